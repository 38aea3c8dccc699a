"""Hierarchies that somebody changed, or that are no files: an `AegisError` that quotes nothing of them."""

from __future__ import annotations

import csv
import os
import random

from families import family
from mutations import change_bytes
from people_files import HIERARCHY, MASKED_DOMAINS, folder, only_library_errors

import aegis_opt as ao


@family(seconds=0.02)
def mutated_hierarchies(seed: int) -> None:
    """A hierarchy groups values as its rows say; a changed one may be refused, without a word of it."""
    rng = random.Random(seed)
    secret = f"secret{rng.randrange(10**9)}"
    text = HIERARCHY.replace("young", secret, rng.randrange(3))
    level, attribute = rng.choice((0, 1, 2)), rng.choice(("age", "age", "age", "name", "born", "size"))
    unchanged = False
    with folder() as place, only_library_errors():
        path = place / "age.csv"
        match rng.randrange(12):
            case 0:
                path.unlink()
                path.mkdir()
            case 1:
                path.unlink()
                os.mkfifo(path)
            case 2:
                path.unlink()
                path.symlink_to(
                    rng.choice(("/dev/zero", "/dev/tty", "/proc/self/mem", "/proc/kmsg", "nowhere"))
                )
            case 3:
                path.write_bytes(b"\n" * rng.choice((1, 1000, 10**6)))
            case 4 | 5 | 6:
                path.write_text(text)
                unchanged = attribute == "age"
            case _:
                path.write_bytes(change_bytes(rng, text.encode()))
        told = ""
        try:
            grouping = ao.Generalize(hierarchy=path, level=level).group(MASKED_DOMAINS[attribute])
            assert len(grouping.groups) == len(MASKED_DOMAINS[attribute])
            if unchanged:
                rows = {row[0]: row[level] for row in csv.reader(text.splitlines())}
                found = [grouping.labels[group] for group in grouping.groups]
                assert found == [rows[str(age)] for age in MASKED_DOMAINS["age"].to_list()]
        except ao.AegisError as error:
            told = str(error)
            assert not unchanged, told
        assert secret not in told
