"""Files that somebody changed, by chance or on purpose: only an `AegisError` may come of them."""

from __future__ import annotations

import contextlib
import copy
import datetime as dt
import functools
import gzip
import io
import json
import os
import pickle
import random
import tempfile
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import yaml
from families import family

import aegis_opt as ao
from aegis_opt.cli import main
from aegis_opt.domain import Domain
from aegis_opt.harness import load_results
from aegis_opt.masks import group_attribute
from aegis_opt.report import write_report

PEOPLE = pd.DataFrame(
    {
        "age": [10, 17, 43, 55, 20, 17, 61, 10],
        "born": [
            dt.date(2010, 1, 1),
            None,
            dt.date(1977, 5, 6),
            None,
            dt.date(2000, 2, 29),
            None,
            None,
            None,
        ],
        "size": [1.5, None, 3.0, 0.0, 2.0, 2.0, 99.5, -4.25],
        "name": ["ü", "x", None, "日本", "x", "", "y", "a'b"],
        "health": ["good", None, "good", "poor", "poor", "good", "good", "poor"],
    }
)
SPECS: dict[str, dict[str, dict[str, Any]]] = {
    "ranges": {
        "age": {"function": "generalize", "ranges": 3},
        "born": {"function": "truncate", "unit": "quarter"},
        "size": {"function": "bucketize", "width": 0.5, "origin": 0.25},
        "name": {"function": "prefix", "length": 1},
    },
    "edges": {
        "age": {"function": "bucketize", "edges": [18, 40.5]},
        "born": {"function": "bucketize", "width": {"days": 400}, "origin": "1999-01-01"},
        "size": {"function": "blur", "width": 2},
        "name": {"function": "generalize", "mapping": {"a": ["ü", "x", None], "b": ["日本", "", "y", "a'b"]}},
    },
    "coarse": {
        "age": {"function": "erase_digits", "digits": 1},
        "born": {"function": "top_code", "top": "2005-06-07"},
        "size": {"function": "top_code", "top": 2, "bottom": 0.5},
        "name": {"function": "suppress"},
    },
    "levels": {"age": {"function": "generalize", "hierarchy": "age.csv", "level": 1}},
}
HIERARCHY = "10,young,*\n17,young,*\n20,young,*\n43,old,*\n55,old,*\n61,old,*\n"
MASKED_DOMAINS = {
    "age": Domain.of(PEOPLE["age"]),
    "born": Domain.of(PEOPLE["born"]),
    "size": Domain.of(PEOPLE["size"]),
    "name": Domain.of(PEOPLE["name"]),
}

LEAVES: list[Any] = [
    *(
        None,
        True,
        False,
        0,
        1,
        -1,
        2,
        7,
        8,
        9,
        0.5,
        -0.0,
        1e308,
        1e-320,
        "",
        "0",
        "NaN",
        "Infinity",
        "x",
        "*",
    ),
    *(2**31, 2**53, 2**53 + 1, 2**62, 2**63, 2**64, -(2**63), 10**30, 10**400, 10**4000, "9" * 5000, "\0"),
    *([], {}, [[]], [0], {"runs": []}, {"runs": [[0, 8]]}, {"a": 1}, "\x1b[31m", "\u202e", "日" * 300),
    *(
        "\ud800",
        "a" * 100_000,
        "9999-12-31",
        "0001-01-01T00:00:00+14:00",
        "2020-02-30",
        "../age.csv",
        "/dev/zero",
    ),
    *(
        "identity",
        "suppress",
        "generalize",
        "bucketize",
        "blur",
        "prefix",
        "truncate",
        "integer",
        "real",
        "date",
    ),
]


@contextlib.contextmanager
def only_library_errors() -> Iterator[None]:
    """Let pass what the library refuses, and nothing else; a warning of NumPy counts as an error."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("error", RuntimeWarning)
        with contextlib.suppress(ao.AegisError):
            yield


@contextlib.contextmanager
def folder() -> Iterator[Path]:
    """Yield a new folder with the hierarchy that the configurations name."""
    with tempfile.TemporaryDirectory() as name:
        (Path(name) / "age.csv").write_text(HIERARCHY)
        yield Path(name)


@functools.cache
def base_documents() -> list[str]:
    """Return whole summaries as JSON: with and without histograms, with scores, and one coarsened."""
    texts = []
    with folder() as place, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        (place / "c.json").write_text(json.dumps(SPECS))
        many = pd.DataFrame({"x": range(40), "y": [i % 3 for i in range(40)]})
        sources: list[tuple[Any, str, Any, dict[str, Any]]] = [
            (PEOPLE, "health", place / "c.json", {"histograms": True}),
            (PEOPLE, "health", place / "c.json", {"histograms": False}),
            (PEOPLE, "health", place / "c.json", {"share": "both", "scores": ["r2", "r2_cv"]}),
            (many, "y", {"c": {"x": ao.Suppress()}, "open": {}}, {"max_values": 10}),
        ]
        for source, label, masks, options in sources:
            ao.summarize(source, label, masks, **options).save(place / "s.json")
            texts.append((place / "s.json").read_text(encoding="utf-8"))
    return texts


@functools.cache
def score_document() -> str:
    """Return a summary of scores as JSON."""
    with folder() as place:
        (place / "c.json").write_text(json.dumps(SPECS))
        wanted = {"share": "scores", "scores": ["r2_gcv", "r2_cv", "race"], "unmasked": True}
        ao.summarize(PEOPLE, "health", place / "c.json", **wanted).save(place / "s.json")
        return (place / "s.json").read_text(encoding="utf-8")


def places(document: Any) -> list[tuple[Any, Any]]:
    """Return all (container, key) of a document."""
    found = []
    waiting = [document]
    while waiting:
        node = waiting.pop()
        keys = list(node) if isinstance(node, dict) else range(len(node)) if isinstance(node, list) else []
        for key in keys:
            found.append((node, key))
            waiting.append(node[key])
    return found


def change_leaves(rng: random.Random, document: Any) -> None:
    """Replace a few entries by values that are wrong, extreme or merely others."""
    for _ in range(rng.choice((1, 1, 1, 2, 5))):
        node, key = rng.choice(places(document))
        value = node[key]
        if isinstance(value, int | float) and abs(value) < 2**64 and rng.random() < 0.5:
            node[key] = rng.choice((value + 1, value - 1, -value, value * 2**40, value + 0.5))
        else:
            node[key] = copy.deepcopy(rng.choice(LEAVES))


def change_structure(rng: random.Random, document: Any) -> None:
    """Remove, repeat, rename, exchange or wrap a few entries."""
    for _ in range(rng.choice((1, 1, 2, 4))):
        found = places(document)
        if not found:
            return
        node, key = rng.choice(found)
        other, other_key = rng.choice(found)
        match rng.randrange(6):
            case 0:
                del node[key]
            case 1 if isinstance(node, list):
                node[key:key] = [node[key]] * rng.choice((1, 3, 1000))
            case 2 if isinstance(node, dict):
                node[str(rng.choice(LEAVES))] = node.pop(key)
            case 3:
                copies = json.loads(json.dumps([node[key], other[other_key]]))
                node[key], other[other_key] = copies[1], copies[0]
            case 4:
                for _ in range(rng.choice((1, 5, 40, 200))):
                    node[key] = [node[key]]
            case _:
                for _ in range(rng.choice((1, 5, 40, 200))):
                    node[key] = {"a": node[key]}


def change_sizes(rng: random.Random, document: Any) -> None:
    """Let an attribute claim sizes that it has not, by itself or with runs and counts that go along."""
    names = list(document["attributes"])
    attribute = document["attributes"][rng.choice(names)]
    table = rng.choice(attribute["tables"])
    n = rng.choice((0, 1, 7, 9, 10**5, 10**7, 10**8, 2**53, 2**62, 2**63, 2**64, 10**100, -8))
    match rng.randrange(6):
        case 0:
            attribute["n_values"] = n
        case 1:
            table["groups"] = {"runs": [[0, 2**62], [1, 2**62], [0, 2**62], [1, 2**62], [0, n]]}
        case 2:
            table["groups"] = {"runs": [[g, n] for g in range(rng.choice((1, 2, 1000)))]}
        case 3:  # consistent, but large
            records = rng.choice((10**5, 10**7, 2**52, 2**53, 2**62, 10**30))
            n = min(abs(n), records)
            classes = len(document["label"]["values"])
            document["label"]["counts"] = [records] * classes
            attribute.update(n_values=n, values=None, histogram=None)
            lump = {"mask": {"function": "suppress"}, "groups": {"runs": [[0, n]]}, "labels": ["*"]}
            lump["joint"] = [[records] * classes]
            attribute["tables"] = [lump] * rng.choice((1, 2, 3000))
            document["attributes"] = dict.fromkeys(names if rng.random() < 0.5 else names[:1], attribute)
            chosen = dict.fromkeys(document["attributes"], 0)
            document["configurations"] = dict.fromkeys(document["configurations"], chosen)
        case 4:
            document["label"]["counts"] = [n, n, n]
        case _:
            attribute["histogram"] = [n] * rng.choice((1, attribute["n_values"], 10_000))


def change_consistently(rng: random.Random, document: Any) -> None:
    """Change names, masks, masked values and counts so that the parts still agree, so that it is used."""
    texts = [value for value in LEAVES if isinstance(value, str) and value and value != "\ud800"]
    attributes = document["attributes"]
    for _ in range(rng.choice((1, 2, 4))):
        name, text = rng.choice(list(attributes)), rng.choice(texts)
        table = rng.choice(attributes[name]["tables"])
        match rng.randrange(6):
            case 0:
                for holder in (attributes, *document["configurations"].values()):
                    holder[text] = holder.pop(name)
            case 1:
                holder = document["configurations"]
                holder[text] = holder.pop(rng.choice(list(holder)))
            case 2:
                change_leaves(rng, table["mask"])
                table["mask"] = (
                    table["mask"] if isinstance(table["mask"].get("function"), str) else {"function": text}
                )
            case 3:
                table["labels"] = [rng.choice((*texts, 5, None, 1e308, label)) for label in table["labels"]]
            case 4:
                factor = rng.choice((0, 2, 10**6, 2**45))
                for holder, key in places(document):
                    if key in ("counts", "histogram", "joint") and holder[key] is not None:
                        holder[key] = times(holder[key], factor)
            case _:  # views that contradict each other
                joint = table["joint"]
                column = rng.randrange(len(joint[0]))
                column_of = [row[column] for row in joint]
                rng.shuffle(column_of)
                for row, count in zip(joint, column_of, strict=True):
                    row[column] = count


def times(counts: Any, factor: int) -> Any:
    """Multiply all numbers of nested lists."""
    return [times(part, factor) for part in counts] if isinstance(counts, list) else counts * factor


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


def change_bytes(rng: random.Random, data: bytes) -> bytes:
    """Flip, insert, remove or repeat a few bytes, or cut the rest off."""
    changed = bytearray(data)
    for _ in range(rng.choice((1, 1, 2, 8, 64))):
        at = rng.randrange(len(changed))
        match rng.randrange(5):
            case 0:
                changed[at] ^= 1 << rng.randrange(8)
            case 1:
                changed[at] = rng.randrange(256)
            case 2:
                changed[at:at] = rng.choice(
                    (b"[", b"{", b'"', b",", b"9" * 5000, b"[" * 3000, b"\xff", b"&a ", b"*a")
                )
            case 3:
                del changed[at : at + rng.choice((1, 2, 30))]
            case _:
                changed[at:at] = changed[at : at + 30]
        if not changed:
            return b""
    return bytes(changed[: rng.randrange(len(changed))] if rng.random() < 0.05 else changed)


def doubled_key(rng: random.Random, text: str) -> str:
    """Give a key of a JSON document twice."""
    keys = [i for i in range(len(text)) if text.startswith('":', i)]
    end = rng.choice(keys)
    start = text.rindex('"', 0, end)
    return f"{text[:start]}{text[start : end + 2]}0,{text[start:]}"


CHANGES: list[Callable[[random.Random, Any], None]] = [
    change_leaves,
    change_structure,
    change_sizes,
    change_consistently,
    change_consistently,
]


def written(rng: random.Random, text: str, changes: list[Callable[[random.Random, Any], None]]) -> bytes:
    """Return a document with some changes, as the bytes of a file."""
    kind = rng.randrange(len(changes) + 2)
    if kind < len(changes):
        document = json.loads(text)
        changes[kind](rng, document)
        return json.dumps(document, ensure_ascii=rng.random() < 0.9).encode("utf-8", "surrogatepass")
    if kind == len(changes) and rng.random() < 0.3:
        return doubled_key(rng, text).encode()
    return change_bytes(rng, text.encode())


def packed(rng: random.Random, data: bytes) -> bytes:
    """Compress a file, and sometimes change that, make it endless or let it go on."""
    match rng.randrange(4):
        case 0:
            return change_bytes(rng, gzip.compress(data))
        case 1:
            return (
                gzip.compress(data + b" " * rng.choice((10, 10**6, 3 * 10**8)), 1)
                if rng.random() < 0.02
                else data
            )
        case 2:
            return gzip.compress(data) * 2
        case _:
            return gzip.compress(data)


@family(seconds=0.06)
def mutated_summaries(seed: int) -> None:
    """A summary file that was changed is refused by the library, or can be used and saved again."""
    rng = random.Random(seed)
    data = written(rng, rng.choice(base_documents()), CHANGES)
    with folder() as place, only_library_errors():
        path = place / ("s.json.gz" if rng.random() < 0.15 else "s.json")
        path.write_bytes(packed(rng, data) if path.suffix == ".gz" else data)
        summary = ao.Summary.load(path)
        use_summary(rng, summary, path)


@family(seconds=0.06)
def mutated_scores(seed: int) -> None:
    """A summary of scores that was changed gives advice or an error of the library."""
    rng = random.Random(seed)
    data = written(rng, score_document(), [change_leaves, change_leaves, change_structure])
    with folder() as place, only_library_errors():
        path = place / ("s.json.gz" if rng.random() < 0.15 else "s.json")
        path.write_bytes(packed(rng, data) if path.suffix == ".gz" else data)
        summary = ao.Summary.load(path)
        use_summary(rng, summary, path)


def use_summary(rng: random.Random, summary: Any, path: Path) -> None:
    """Do with a summary what its readers do."""
    repr(summary), summary.report(), summary.spec(*next(_chosen(summary)))
    again = path.with_name("again.json")
    summary.save(again)
    assert ao.Summary.load(again) == summary == pickle.loads(pickle.dumps(summary))
    with contextlib.suppress(ao.AegisError):  # views that contradict each other
        ao.advise(summary)
        summary.report()
        measure = rng.choice(("mi", "chi2", "g3", "r2", "r2_cv", "mi_loo"))
        given = (
            {}
            if measure.startswith("r2") or hasattr(summary, "measures")
            else {"scope": rng.choice(("pooled", "single"))}
        )
        advice = ao.advise(summary, measure, **given)
        assert len(advice.ranking) == len(summary.configurations)
    if rng.random() < 0.1:
        with (
            contextlib.redirect_stdout(io.StringIO()) as out,
            contextlib.redirect_stderr(io.StringIO()) as err,
        ):
            code = main(["advise", str(path), "--by-attribute"])
        assert code in (0, 1)
        assert "\x1b" not in out.getvalue() + err.getvalue()


def _chosen(summary: Any) -> Iterator[tuple[str, str]]:
    """Yield configurations and the attributes that they mask."""
    return ((name, attribute) for name, chosen in summary.configurations.items() for attribute in chosen)


@functools.cache
def frame() -> pd.DataFrame:
    """Return the people, once."""
    return PEOPLE.copy()


@family(seconds=0.1)
def mutated_configurations(seed: int) -> None:
    """A configuration file that was changed is refused by the library, or its masks can be used."""
    rng = random.Random(seed)
    text = json.dumps({"label": "health", "configurations": SPECS} if rng.random() < 0.5 else SPECS)
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
    for domains in ({}, MASKED_DOMAINS):
        with contextlib.suppress(ao.AegisError):
            chosen.to_sql(
                rng.choice(("duckdb", "postgresql", "spark", "snowflake")), "people", domains=domains
            )
    with contextlib.suppress(ao.AegisError):
        masked = ao.apply_configuration(frame(), chosen)
        assert len(masked) == len(PEOPLE)
    with contextlib.suppress(ao.AegisError):
        ao.summarize(frame(), "health", configurations)


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


@functools.cache
def results_folder() -> dict[str, bytes]:
    """Return the files of a small comparison."""
    with tempfile.TemporaryDirectory() as name:
        data = ao.datasets.worked_example()
        ao.compare(
            *(data.frame, data.label, data.configurations),
            solvers=["ipf"],
            measures=["mi"],
            output=Path(name) / "results",
        )
        root = Path(name) / "results"
        return {str(path.relative_to(root)): path.read_bytes() for path in root.rglob("*") if path.is_file()}


COLUMN_VALUES = [
    *(
        "NULL",
        "'NaN'::DOUBLE",
        "'Infinity'::DOUBLE",
        "-1",
        "1e308",
        "9223372036854775807",
        "''",
        "'<b>'",
        "[1]",
    ),
    *("repeat('x', 1000000)", "TRUE", "'failed'", "'skipped'", "'no winner'", "DATE '2020-01-01'"),
]


def change_column(rng: random.Random, path: Path) -> None:
    """Give a column of a Parquet file another value in all rows, or remove it."""
    changed = path.with_suffix(".changed")
    with duckdb.connect() as connection, contextlib.suppress(duckdb.Error):  # its bytes may be changed, too
        column = rng.choice(connection.read_parquet(str(path)).columns)
        what = f'REPLACE ({rng.choice(COLUMN_VALUES)} AS "{column}")'
        if rng.random() < 0.1:
            what = f'EXCLUDE ("{column}")'
        rows = f"SELECT t.* {what} FROM read_parquet('{path}') AS t, range({rng.choice((1, 1, 3))})"
        connection.execute(f"COPY ({rows}) TO '{changed}' (FORMAT parquet)")
        changed.replace(path)


@family(seconds=0.3)
def mutated_results(seed: int) -> None:
    """A results folder whose files were changed is refused by the library, or makes a page."""
    rng = random.Random(seed)
    files = dict(results_folder())
    changed = rng.choice([*files, *["meta.json"] * len(files)])
    in_column = rng.random() < 0.5
    if changed == "meta.json" and not in_column:
        files[changed] = written(rng, files[changed].decode(), [change_leaves, change_structure])
    elif not in_column:
        files[changed] = change_bytes(rng, files[changed])
    with tempfile.TemporaryDirectory() as name, only_library_errors():
        for path, data in files.items():
            target = Path(name) / "results" / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(data)
        if in_column:
            change_column(rng, rng.choice(list((Path(name) / "results").rglob("*.parquet"))))
        results = load_results(Path(name) / "results")
        write_report(results, Path(name) / "page.html")
