"""Names and values that look like markup, SQL or commands: everything comes out as with plain ones."""

from __future__ import annotations

import contextlib
import csv
import functools
import random
import tempfile
import warnings
from dataclasses import dataclass, replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
from families import family

import aegis_opt as ao
from aegis_opt.harness import load_results
from aegis_opt.masks import Mask
from aegis_opt.report import plot_ranking, write_report

N = 24
PIECES = [
    *(
        '<b id="EVIL">',
        "</script><script>EVIL()</script>",
        "<!--",
        "]]>",
        "&lt;",
        "{{x}}",
        "${x}",
        "%s",
        "{0}",
    ),
    *("'", '"', "`", "\\", "''", '""', ";--", "/*", "*/", "$$", "a,b", "a;b", "?", "*", "=1+1", "@x", "#"),
    *("\n", "\r\n", "\r", "\t", " ", "\u2028", "\x0b", "\x1b[31m", "\u202e", "\u200f", "\u0301", "\ufeff"),
    *("日本", "Ä", "\U0001f600", "$x^{2", "[bold]", "NULL", "nan", "-0", "1e5", "x" * 3000, "."),
]
REFUSED = ["\0", "\ud800", "\udfff"]  # that no column of text holds


@dataclass(frozen=True)
class Words:
    """The names of a case, in place of plain ones."""

    attributes: tuple[str, ...]
    label: str
    configurations: tuple[str, ...]
    values: tuple[str, ...]
    classes: tuple[str, ...]

    def frame(self) -> pd.DataFrame:
        """Return the same records whatever the words are."""
        codes = np.random.default_rng(0).integers(0, 4, size=(N, len(self.attributes)))
        columns = [[self.values[code] for code in part] for part in codes.T]
        columns.append([self.classes[code % len(self.classes)] for code in codes.sum(axis=1)])
        names = pd.Index(
            [*self.attributes, self.label], dtype=object
        )  # text of Arrow cannot hold all of them
        return pd.DataFrame(list(zip(*columns, strict=True)), columns=names, dtype=object)

    def texts(self) -> list[str]:
        """Return all words that stand in a table."""
        return [*self.attributes, self.label, *self.values, *self.classes]

    def masks(self) -> dict[str, dict[str, Mask]]:
        """Return configurations that group, suppress and keep the values."""
        one, two = self.attributes
        halves = ao.Generalize({self.values[0]: self.values[:2], self.values[3]: self.values[2:]})
        return {
            self.configurations[0]: {one: halves, two: halves},
            self.configurations[1]: {one: ao.Suppress()},
        }


PLAIN = Words(("a0", "a1"), "y", ("c0", "c1"), ("v0", "v1", "v2", "v3"), ("k0", "k1", "k2"))


def odd_words(rng: random.Random, pieces: list[str]) -> Words:
    """Draw words, distinct even where case and blanks at the ends do not count."""

    def draw(kind: str, n: int) -> tuple[str, ...]:
        ends = [rng.choice(("", f"{kind}{i}")) or f"{kind}{i}" for i in range(n)]
        return tuple(f"{end}{''.join(rng.choices(pieces, k=rng.choice((1, 1, 3))))}{end}" for end in ends)

    return Words(draw("a", 2), draw("y", 1)[0], draw("c", 2), draw("v", 4), draw("k", 3))


def stored(frame: pd.DataFrame, kind: str, folder: Path) -> Any:
    """Return a frame as the source of that kind."""
    path = folder / f"people.{kind}"
    if kind == "csv":
        with open(path, "w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file, quoting=csv.QUOTE_ALL, lineterminator="\n")
            writer.writerows([list(frame.columns), *frame.itertuples(index=False, name=None)])
        return path
    if kind == "parquet":
        frame.to_parquet(path, index=False)
        return path
    return frame


@dataclass(frozen=True)
class Outcome:
    """What came of a source, in terms that plain words can be put in for odd ones."""

    joints: dict[Any, Any]
    ranking: list[Any]
    masked: list[list[Any]]


def outcome(words: Words, kind: str, folder: Path) -> Outcome:
    """Summarize, save, load, advise and mask."""
    source = stored(words.frame(), kind, folder)
    configurations = ao.Configurations(words.masks(), label=words.label)
    ao.save_configurations(configurations, folder / "c.yaml")
    ao.save_configurations(configurations, folder / "c.json")
    assert (
        ao.load_configurations(folder / "c.yaml")
        == ao.load_configurations(folder / "c.json")
        == configurations
    )
    summary = ao.summarize(source, None, configurations, histograms=True)
    summary.save(folder / "s.json")
    loaded = ao.Summary.load(folder / "s.json")
    assert loaded == summary
    plain = {
        **dict(zip((*words.values, *words.classes), (*PLAIN.values, *PLAIN.classes), strict=True)),
        **dict(zip(words.configurations, PLAIN.configurations, strict=True)),
        "*": "*",
    }
    joints = {}
    for name, column in zip(words.attributes, PLAIN.attributes, strict=True):
        for configuration in words.configurations:
            table = loaded.masked_table(configuration, name)
            for row, label in zip(table.joint, table.labels, strict=True):
                for count, value in zip(row, loaded.label_values, strict=True):
                    joints[plain[configuration], column, plain[label], plain[value]] = int(count)
    advice = ao.advise(loaded, "mi")
    ranked = [(plain[r["configuration"]], round(r["pud"], 9)) for r in advice.ranking.to_dict("records")]
    masked = ao.apply_configuration(source, configurations[words.configurations[0]])
    assert list(masked.columns) == [*words.attributes, words.label]
    texts = [[plain[value] for value in row] for row in masked.itertuples(index=False, name=None)]
    check_sql(configurations[words.configurations[0]], words.frame(), masked)
    return Outcome(joints, ranked, texts)


def check_sql(configuration: ao.Configuration, frame: pd.DataFrame, masked: pd.DataFrame) -> None:
    """Check that DuckDB masks by the SELECT as the library does, and that the others can be written."""
    for dialect in ("postgresql", "spark", "snowflake"):
        configuration.to_sql(dialect, "people", list(frame.columns))
    with duckdb.connect() as connection:
        connection.register("people", frame)
        found = connection.execute(configuration.to_sql("duckdb", "people", list(frame.columns))).fetchall()
    assert found == list(masked.itertuples(index=False, name=None))


@functools.cache
def plain_outcome() -> Outcome:
    """Return what comes of plain words."""
    with tempfile.TemporaryDirectory() as folder:
        return outcome(PLAIN, "frame", Path(folder))


@family(seconds=0.4)
def odd_names_give_what_plain_names_give(seed: int) -> None:
    """Frames, CSV and Parquet files with odd names and values give the tables and advice of plain ones."""
    rng = random.Random(seed)
    words, kind = odd_words(rng, PIECES), rng.choice(("frame", "csv", "parquet"))
    mixed = kind == "csv" and any("\r" in text for text in words.texts())
    refusable = ao.AegisError if mixed else ()  # line breaks of two styles in one file
    with tempfile.TemporaryDirectory() as folder, contextlib.suppress(refusable):
        assert outcome(words, kind, Path(folder)) == plain_outcome()


@family(seconds=0.1)
def names_that_no_text_holds_are_refused(seed: int) -> None:
    """Null characters and halves of characters are taken as any other or refused by the library."""
    rng = random.Random(seed)
    odd = vars(odd_words(rng, [*REFUSED, "x"]))
    words = replace(PLAIN, **{field: odd[field] for field in rng.sample(sorted(odd), rng.choice((1, 1, 2)))})
    frame = words.frame()
    with tempfile.TemporaryDirectory() as folder, contextlib.suppress(ao.AegisError):
        configurations = ao.Configurations(words.masks(), label=words.label)
        ao.save_configurations(configurations, Path(folder) / "c.json")
        summary = ao.summarize(frame, words.label, configurations, histograms=True)
        summary.save(Path(folder) / "s.json")
        assert ao.Summary.load(Path(folder) / "s.json") == summary
        ao.advise(summary)
        assert len(ao.apply_configuration(frame, configurations[words.configurations[0]])) == N


class Tags(HTMLParser):
    """Collects what a browser would take for markup or code."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []
        self.inside: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append(f"{tag} {attrs}")
        if tag == "script":
            self.inside.append("")

    def handle_data(self, data: str) -> None:
        if self.inside:
            self.inside[-1] += data


@family(seconds=1.0)
def pages_hold_names_as_text(seed: int) -> None:
    """A report and a picture of odd names hold them as text, never as markup."""
    rng = random.Random(seed)
    words = odd_words(rng, PIECES)
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph")  # which no font of this machine has
        ao.compare(
            *(words.frame(), words.label, words.masks()),
            scopes=["pooled"],
            histograms=[True],
            output=Path(folder) / "results",
            name="".join(rng.choices(PIECES, k=2)),
        )
        [page] = write_report(load_results(Path(folder) / "results"), Path(folder) / "page.html")
        text = page.read_text(encoding="utf-8")
        tags = Tags()
        tags.feed(text)
        assert not [tag for tag in tags.found if "EVIL" in tag.upper()]
        assert len(tags.inside) == text.count("<script") == text.count("</script>")
        if rng.random() < 0.2:
            advice = ao.advise(ao.summarize(words.frame(), words.label, words.masks()))
            for ending in ("png", "svg"):
                plot_ranking(advice, Path(folder) / f"ranking.{ending}")
            assert "EVIL()</script>" not in (Path(folder) / "ranking.svg").read_text(encoding="utf-8")
