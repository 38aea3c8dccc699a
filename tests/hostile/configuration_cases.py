"""Configuration files, in JSON and YAML, that somebody changed: only an `AegisError` may come of them."""

from __future__ import annotations

import contextlib
import copy
import json
import random
from pathlib import Path
from typing import Any

import yaml
from families import family
from mutations import LEAVES, change_bytes, change_leaves, change_structure, places, written
from people_files import MASKED_DOMAINS, NOISE_SPECS, PEOPLE, SPECS, folder, only_library_errors

import aegis_opt as ao
from aegis_opt.masks import group_attribute


def change_one_mask(rng: random.Random, document: Any) -> None:
    """Keep one mask, and change one of its parameters."""
    holder = document.get("configurations", document)
    name = rng.choice(list(holder))
    attribute = rng.choice(list(holder[name]))
    spec = holder[name][attribute]
    inner = [(node, key) for node, key in places(spec) if key != "function"]
    if inner:
        node, key = rng.choice(inner)
        node[key] = copy.deepcopy(rng.choice(LEAVES))
    holder.clear()
    holder[name] = {attribute: spec}


@family(seconds=0.1)
def mutated_configurations(seed: int) -> None:
    """A configuration file that was changed is refused by the library, or its masks can be used."""
    rng = random.Random(seed)
    specs = rng.choice((SPECS, SPECS, NOISE_SPECS))
    text = json.dumps({"label": "health", "configurations": specs} if rng.random() < 0.5 else specs)
    with folder() as place, only_library_errors():
        path = place / rng.choice(("c.json", "c.yaml"))
        data = written(rng, text, [change_leaves, change_structure, change_one_mask, change_one_mask])
        if path.suffix == ".yaml" and rng.random() < 0.5:
            data = mutated_yaml(rng)
        path.write_bytes(data)
        use_configurations(rng, ao.load_configurations(path), place)


def mutated_yaml(rng: random.Random) -> bytes:
    """Return a configuration file in YAML, with changes that JSON has not: aliases, merge keys, tags."""
    text = yaml.safe_dump(SPECS, allow_unicode=True)
    n, width = rng.choice(((3, 2), (9, 10), (40, 3), (60, 2))), rng.choice((1, 2, 9))
    many = "\n".join(f"b{i}: &b{i} [{', '.join([f'*b{i - 1}'] * n[1] if i else ['x'])}]" for i in range(n[0]))
    merged = "\n".join(
        f"b{i}: &b{i} {{<<: [{', '.join([f'*b{i - 1}'] * width)}]}}"
        if i
        else "b0: &b0 {a: {function: suppress}}"
        for i in range(n[0])
    )
    tag = rng.choice(
        ("!!int '_'", "!!float ''", "!!bool maybe", "!!timestamp x", "!!set {a}", "!!python/name:os.system")
    )
    odd = rng.choice(
        (many, merged, "a: &a [*a]", "a: &a {b: *a}", f"a: {tag}", "a: " + "[" * 5000, "? [a]\n: b")
    )
    odd_value = rng.choice(
        (f"a: {{age: {odd.split(' ', 1)[1]}}}", "a: {age: 0001-01-01T00:00:00+14:00}", "1: {2: 3}")
    )
    match rng.randrange(4):
        case 0:
            return odd.encode()
        case 1:
            return f"{text}\n{odd}".encode()
        case 2:
            return odd_value.encode()
        case _:
            return change_bytes(rng, text.encode())


def use_configurations(rng: random.Random, configurations: ao.Configurations, place: Path) -> None:
    """Group with every mask, write SQL, save, summarize and mask a table."""
    ao.save_configurations(configurations, place / "again.json")
    assert ao.load_configurations(place / "again.json") == configurations
    for configuration in configurations.values():
        for attribute, mask in configuration.items():
            with contextlib.suppress(ao.AegisError):
                group_attribute(mask, attribute, MASKED_DOMAINS.get(attribute, MASKED_DOMAINS["name"]))
    chosen = rng.choice(list(configurations.values()))
    with contextlib.suppress(ao.AegisError):
        chosen.epsilons(MASKED_DOMAINS)
    for domains in ({}, MASKED_DOMAINS):
        with contextlib.suppress(ao.AegisError):
            chosen.to_sql(
                rng.choice(("duckdb", "postgresql", "spark", "snowflake")), "people", domains=domains
            )
    with contextlib.suppress(ao.AegisError):
        masked = ao.apply_configuration(PEOPLE, chosen)
        assert len(masked) == len(PEOPLE)
    with contextlib.suppress(ao.AegisError):
        ao.summarize(PEOPLE, "health", configurations)
