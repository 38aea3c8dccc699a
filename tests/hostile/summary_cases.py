"""Summaries, of tables and of scores, that somebody changed: only an `AegisError` may come of them."""

from __future__ import annotations

import contextlib
import copy
import functools
import gzip
import io
import json
import pickle
import random
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
from families import family
from mutations import LEAVES, Change, change_bytes, change_leaves, change_structure, places, written
from people_files import NOISE_SPECS, PEOPLE, SPECS, folder, only_library_errors

import aegis_opt as ao
from aegis_opt.cli import main
from aegis_opt.privacy import KAnonymity, TCloseness
from aegis_opt.summary._noisy_tables import noisy_attributes

LABEL = ao.Generalize([["low", [0, 1]], ["high", [2]]])
MASKS_OF_AGE = {"wide": {"age": ao.Bucketize(width=20)}, "narrow": {"age": ao.Bucketize(width=10)}}


@functools.cache
def base_documents() -> list[str]:
    """Return whole summaries as JSON: with and without histograms, with scores, coarsened, protected,
    with masked labels, and with noise.
    """
    texts = []
    with folder() as place, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        (place / "c.json").write_text(json.dumps(SPECS))
        (place / "n.json").write_text(json.dumps(NOISE_SPECS))
        often = pd.concat([PEOPLE] * 20, ignore_index=True)  # names are not nearly unique
        many = pd.DataFrame({"x": range(40), "y": [i % 3 for i in range(40)]})
        sources: list[tuple[Any, str, Any, dict[str, Any]]] = [
            (PEOPLE, "health", place / "c.json", {"histograms": True}),
            (PEOPLE, "health", place / "c.json", {"histograms": False}),
            (PEOPLE, "health", place / "c.json", {"share": "both", "scores": ["r2", "r2_cv"]}),
            (PEOPLE, "health", place / "c.json", {"rules": [KAnonymity(2), TCloseness(0.5)]}),
            (many, "y", {"c": {"x": ao.Suppress()}, "open": {}}, {"max_values": 10}),
            (PEOPLE, "health", place / "c.json", {"protect": ao.privacy.ControlledRounding(2, seed=0)}),
            (many, "y", {"c": {"x": ao.Blur(9), "y": LABEL}, "d": {"x": ao.Blur(5), "y": ao.KeepTop(1)}}, {}),
            (many, "y", {"c": {"x": ao.Blur(9), "y": LABEL}, "d": {"x": ao.Blur(5)}}, {"share": "both"}),
            (often, "health", place / "n.json", {"histograms": True}),
            (often, "health", place / "n.json", {"histograms": False}),
        ]
        for source, label, masks, options in sources:
            ao.summarize(source, label, masks, **options).save(place / "s.json")
            texts.append((place / "s.json").read_text(encoding="utf-8"))
    return texts


@functools.cache
def score_document() -> str:
    """Return a summary of scores as JSON, with what every change of one mask would give."""
    with folder() as place:
        (place / "c.json").write_text(json.dumps(SPECS))
        wanted = {"share": "scores", "scores": ["r2_gcv", "r2_cv", "race"], "unmasked": True, "explain": True}
        ao.summarize(PEOPLE, "health", place / "c.json", **wanted).save(place / "s.json")
        return (place / "s.json").read_text(encoding="utf-8")


def change_sizes(rng: random.Random, document: Any) -> None:
    """Let an attribute claim sizes that it has not, by itself or with runs and counts that go along."""
    names = list(document["attributes"])
    attribute = document["attributes"][rng.choice(names)]
    table = rng.choice(attribute["tables"])
    n = rng.choice((0, 1, 7, 9, 10**5, 10**7, 10**8, 2**53, 2**62, 2**63, 2**64, 10**100, -8))
    match rng.randrange(8):
        case 0:
            attribute["n_values"] = n
        case 6:  # channels of many values, of which one or all are stated
            listed = [f"v{i}" for i in range(rng.choice((3, 300, 3000)))]
            mask = {"function": "randomized_response", "epsilon": 1.0, "domain": listed}
            joint = [[0] * len(table["joint"][0]) for _ in listed]
            noisy = {"mask": mask, "groups": None, "labels": listed, "joint": joint}
            n = rng.choice((1, len(listed)))
            attribute.update(kind="string", n_values=n, values=listed, tables=[noisy] * rng.choice((1, 50)))
            attribute["histogram"] = rng.choice((None, [1] * len(listed)))
        case 7:  # masks of a label of many classes
            n = min(abs(n), 10**30)
            halves = {"runs": [[0, n // 2], [1, n - n // 2]]}
            mask = {"mask": {"function": "x"}, "groups": halves, "labels": ["l", "h"], "counts": [1, 1]}
            document["label"] |= {"values": None, "counts": None, "n_values": n, "configurations": {}}
            document["label"]["masks"] = [mask] * rng.choice((1, 2, 100, 1000))
            document["version"] = 6
        case 1:
            table["groups"] = {"runs": [[0, 2**62], [1, 2**62], [0, 2**62], [1, 2**62], [0, n]]}
        case 2:
            table["groups"] = {"runs": [[g, n] for g in range(rng.choice((1, 2, 1000)))]}
        case 3:  # consistent, but large
            records = rng.choice((10**5, 10**7, 2**52, 2**53, 2**62, 10**30))
            n = min(abs(n), records)
            classes = len(document["label"]["values"] or document["label"]["masks"][0]["groups"])
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


def change_changes(rng: random.Random, document: Any) -> None:
    """Change what the file says about single changes of masks: numbers, lengths, names, whole blocks."""
    block = document["scores"]["r2_gcv"]["changes"]
    configuration = rng.choice(list(block))
    attribute = rng.choice(list(block[configuration]))
    values = block[configuration][attribute]
    match rng.randrange(7):
        case 0:
            values[rng.randrange(len(values))] = copy.deepcopy(rng.choice(LEAVES))
        case 1:
            values[:] = values[: rng.randrange(len(values))] or values * rng.choice((2, 1000))
        case 2:
            values[:] = [rng.choice((1e308, -1e308, 0.0, values[0])) for _ in values]
        case 3:
            block[configuration][rng.choice(("", "\0", "absent", "<b>"))] = block[configuration].pop(
                attribute
            )
        case 4:
            block[rng.choice(("", "absent"))] = block.pop(configuration)
        case 5:
            document["scores"]["r2_cv"]["changes"] = copy.deepcopy(block)
        case _:
            change_structure(rng, block)


def times(counts: Any, factor: int) -> Any:
    """Multiply all numbers of nested lists."""
    return [times(part, factor) for part in counts] if isinstance(counts, list) else counts * factor


CHANGES: list[Change] = [
    change_leaves,
    change_structure,
    change_sizes,
    change_consistently,
    change_consistently,
]


def followed_by_spaces(data: bytes, pieces: int) -> bytes:
    """Compress a file with pieces of 10,000 spaces behind it, one at a time."""
    file = io.BytesIO()
    with gzip.GzipFile(fileobj=file, mode="wb", compresslevel=1) as packing:
        packing.write(data)
        for _ in range(pieces):
            packing.write(b" " * 10_000)
    return file.getvalue()


def packed(rng: random.Random, data: bytes) -> bytes:
    """Compress a file, and sometimes change that, make it endless or let it go on."""
    match rng.randrange(4):
        case 0:
            return change_bytes(rng, gzip.compress(data))
        case 1:
            return followed_by_spaces(data, rng.choice((1, 100, 30_000))) if rng.random() < 0.02 else data
        case 2:
            return gzip.compress(data) * 2
        case _:
            return gzip.compress(data)


@family(seconds=0.1, prepare=base_documents)
def mutated_summaries(seed: int) -> None:
    """A summary file that was changed is refused by the library, or can be used and saved again."""
    rng = random.Random(seed)
    data = written(rng, rng.choice(base_documents()), CHANGES)
    with folder() as place, only_library_errors():
        path = place / ("s.json.gz" if rng.random() < 0.15 else "s.json")
        path.write_bytes(packed(rng, data) if path.suffix == ".gz" else data)
        summary = ao.Summary.load(path)
        use_summary(rng, summary, path)


@family(seconds=0.06, prepare=score_document)
def mutated_scores(seed: int) -> None:
    """A summary of scores that was changed gives advice or an error of the library."""
    rng = random.Random(seed)
    data = written(rng, score_document(), [change_leaves, change_leaves, change_structure, change_changes])
    with folder() as place, only_library_errors():
        path = place / ("s.json.gz" if rng.random() < 0.15 else "s.json")
        path.write_bytes(packed(rng, data) if path.suffix == ".gz" else data)
        summary = ao.Summary.load(path)
        use_summary(rng, summary, path)


@functools.cache
def several_document() -> str:
    """Return summaries of two labels as JSON."""
    with folder() as place:
        frame = PEOPLE.assign(old=PEOPLE["age"] > 40)
        ao.summarize(frame, ["health", "old"], MASKS_OF_AGE, histograms=True).save(place / "s.json")
        return (place / "s.json").read_text(encoding="utf-8")


def change_one_label(rng: random.Random, document: Any) -> None:
    """Change what is said of one of several labels."""
    rng.choice(CHANGES)(rng, rng.choice(document["summaries"]))


def multiply_one_label(rng: random.Random, document: Any) -> None:
    """Let one of several labels have more records: each summary agrees with itself."""
    for holder, key in places(rng.choice(document["summaries"])):
        if key in ("counts", "histogram", "joint") and holder[key] is not None:
            holder[key] = times(holder[key], 3)


@family(seconds=0.1, prepare=several_document)
def mutated_summaries_of_several_labels(seed: int) -> None:
    """Summaries that are taken together are about the same records, masks and values."""
    rng = random.Random(seed)
    changes = [change_one_label, change_one_label, multiply_one_label, change_structure]
    data = written(rng, several_document(), changes)
    with folder() as place, only_library_errors():
        path = place / "s.json"
        path.write_bytes(data)
        loaded = ao.Summary.load(path)
        if not isinstance(loaded, ao.summary.Summaries):
            return
        parts = [loaded[label] for label in loaded]
        assert len({part.n_records for part in parts}) == 1
        for name in {name for part in parts for name in part.attributes}:
            told = [part.attributes[name] for part in parts if name in part.attributes]
            if len({(str(one.coarsening), one.order) for one in told}) > 1:
                continue  # made with other options
            assert len({(one.kind, one.n_values, one.values) for one in told if one.values is not None}) < 2
            for configuration in loaded.configurations:
                tables = [part.masked_table(configuration, name) for part in parts if name in part.attributes]
                assert len({tuple(table.groups) for table in tables}) == 1
                assert len({tuple(table.joint.sum(axis=1)) for table in tables}) == 1
        loaded.save(place / "again.json")
        assert ao.Summary.load(place / "again.json") == loaded
        ao.advise(loaded, "mi")


def use_summary(rng: random.Random, summary: Any, path: Path) -> None:
    """Do with a summary what its readers do."""
    repr(summary), summary.report(), summary.spec(*next(_chosen(summary)))
    again = path.with_name("again.json")
    summary.save(again)
    assert ao.Summary.load(again) == summary == pickle.loads(pickle.dumps(summary))
    with contextlib.suppress(ao.AegisError):  # views that contradict each other
        ao.advise(summary)
        summary.report()
        if isinstance(summary, ao.Summary) and noisy_attributes(summary):
            return  # an advice on noise fits hundreds of tables again, which takes seconds
        measure = rng.choice(("mi", "chi2", "g3", "r2", "r2_cv", "mi_loo"))
        given = (
            {}
            if measure.startswith("r2") or hasattr(summary, "measures")
            else {"scope": rng.choice(("pooled", "single"))}
        )
        advice = ao.advise(summary, measure, **given)
        assert len(advice.ranking) == len(summary.configurations)
        advice.explain(), str(advice.suggest(unmasked=rng.random() < 0.5))
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
