"""Hierarchies that somebody changed, or that are no files: an `AegisError` that quotes nothing of them."""

from __future__ import annotations

import os
import random

from families import family
from mutations import change_bytes
from people_files import HIERARCHY, MASKED_DOMAINS, folder, only_library_errors

import aegis_opt as ao


@family(seconds=0.02)
def mutated_hierarchies(seed: int) -> None:
    """A hierarchy that was changed is refused without a word of it, or groups values."""
    rng = random.Random(seed)
    secret = f"secret{rng.randrange(10**9)}"
    data = HIERARCHY.replace("young", secret, rng.randrange(3)).encode()
    with folder() as place, only_library_errors():
        path = place / "age.csv"
        match rng.randrange(8):
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
            case _:
                path.write_bytes(change_bytes(rng, data))
        told = ""
        try:
            mask = ao.Generalize(hierarchy=path, level=rng.choice((0, 1, 2)))
            mask.group(MASKED_DOMAINS[rng.choice(("age", "name", "born", "size"))])
        except ao.AegisError as error:
            told = str(error)
        assert secret not in told
