"""The decision record: what it says, that it is small, offline and safe, and that it can be searched."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from hashlib import sha256
from html import unescape
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import aegis_opt as ao
from aegis_opt.cli import main
from aegis_opt.errors import InvalidInput
from aegis_opt.report._record_chosen import sql_of, yaml_of
from aegis_opt.report._record_made import call_of, command_of
from aegis_opt.report._search_table import search_table

MOST_BYTES = 2_000_000


@pytest.fixture(scope="module")
def clinic() -> ao.datasets.Dataset:
    return ao.datasets.clinic(500)


@pytest.fixture(scope="module")
def summary(clinic: ao.datasets.Dataset) -> ao.Summary:
    return ao.summarize(clinic.frame, clinic.label, clinic.configurations, histograms=True)


def text_of(page: Path) -> str:
    """Return what a reader sees: no programs, no markup."""
    html = page.read_text(encoding="utf-8")
    html = re.sub(r"<(script|style)\b.*?</\1>", " ", html, flags=re.S)
    return re.sub(r"\s+", " ", unescape(re.sub(r"<[^>]+>", " ", html)))


def test_the_conclusion_comes_first_with_its_kind_and_why_not_the_next(
    summary: ao.Summary, tmp_path: Path
) -> None:
    advice = ao.advise(summary, "mi")
    page = advice.report(tmp_path / "advice.html")
    text = text_of(page)
    first, second = advice.ranking["configuration"][:2]
    places = [
        text.index(words)
        for words in (
            f"Take {first}: of 12 configurations",
            "proved The order is proved",
            advice.reason,
            f"Why not the next one? {second} comes next",
            "Ranking",
            "Attributes",
            "Privacy It was not checked",
            "The chosen configuration",
            "What the shared summary discloses",
            "What was assumed",
            "How this was made",
            "Name, date, signature",
        )
    ]
    assert places == sorted(places)
    assert page.stat().st_size < MOST_BYTES
    for warning in advice.warnings:
        assert warning in text
    for row in advice.ranking.to_dict("records"):
        assert (
            f"{row['configuration']} {row['pud']:.4f} {row['pud_low']:.4f} to {row['pud_high']:.4f}" in text
        )


@pytest.mark.parametrize("options", [{}, {"measure": "mi", "scope": "single"}, {"measure": "g3"}])
def test_other_kinds_of_advice_have_a_record(
    summary: ao.Summary, options: dict[str, str], tmp_path: Path
) -> None:
    advice = ao.advise(summary, **options)  # type: ignore[arg-type]
    text = text_of(advice.report(tmp_path / "advice.html"))
    if advice.best is None:
        assert "cannot tell What was shared does not tell" in text
        assert "None is chosen." in text
    else:
        assert f"Take {advice.best}" in text


def test_advice_by_shared_numbers_has_a_record(clinic: ao.datasets.Dataset, tmp_path: Path) -> None:
    shared = ao.summarize(clinic.frame, clinic.label, clinic.configurations, share="scores")
    advice = ao.advise(shared)
    text = text_of(advice.report(tmp_path / "advice.html"))
    assert f"Take {advice.best}" in text
    assert "neither counts nor records" in text
    only = ao.summarize(clinic.frame, clinic.label, clinic.configurations, share="scores", measures=[])
    text = text_of(ao.advise(only).report(tmp_path / "scores.html"))
    assert "a number of all attributes together" in text


def test_it_says_which_counts_follow_from_the_shared_tables(summary: ao.Summary, tmp_path: Path) -> None:
    found = ao.audit(summary).attributes.set_index("attribute")
    text = text_of(ao.advise(summary, "mi").report(tmp_path / "advice.html"))
    assert f"{found['small_cells'].sum():,} counts of 1 to 4 in raw joint tables follow" in text
    for name, row in found.iterrows():
        assert f"{name} {row['pinned_cells']:.1%} {row['pinned_records']:.1%} {row['small_cells']:,}" in text


def test_tables_that_contradict_each_other_have_a_record_without_an_audit(tmp_path: Path) -> None:
    people = pd.DataFrame({"age": [1, 2, 3, 4], "health": list("gpgp")})
    masks = {name: {"age": ao.Bucketize(edges=edges)} for name, edges in {"a": [3], "b": [2, 4]}.items()}
    ao.summarize(people, "health", masks).save(tmp_path / "summary.json")
    document = json.loads((tmp_path / "summary.json").read_text())
    joint = document["attributes"]["age"]["tables"][0]["joint"]
    joint[0], joint[1] = [0, 2], [2, 0]
    (tmp_path / "summary.json").write_text(json.dumps(document))
    advice = ao.advise(tmp_path / "summary.json", "mi", on_conflict="repair")
    text = text_of(advice.report(tmp_path / "advice.html"))
    assert "What follows from the tables together is not known: attribute 'age'" in text


def test_it_is_offline_and_runs_nothing_of_a_name(tmp_path: Path) -> None:
    evil = '</script><script>alert("1")</script><img src=x onerror=alert(2)>$style'
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({evil: rng.integers(0, 30, 400), "y": rng.integers(0, 2, 400)})
    masks = {f"{evil}{i}": {evil: ao.Bucketize(width=i)} for i in range(2, 60)}
    advice = ao.advise(ao.summarize(frame, "y", masks, values=True), "mi")
    html = advice.report(tmp_path / "a.html").read_text(encoding="utf-8")
    assert "default-src &#x27;none&#x27;" in html
    outside = re.sub(r"<(script|style)\b.*?</\1>", " ", html, flags=re.S)
    assert "<script" not in outside
    assert "<img" not in outside
    assert "&lt;img src=x onerror=alert(2)&gt;$style2" in outside
    assert not re.search(r"<[^>]*\b(src|href|on\w+)\s*=", outside)
    assert len(rows_of(html, "configurations-rows")) == 58


def test_the_chosen_configuration_can_be_applied_as_written(
    clinic: ao.datasets.Dataset, summary: ao.Summary, tmp_path: Path
) -> None:
    import duckdb

    advice = ao.advise(summary, "mi")
    assert advice.best is not None
    expected = ao.apply_configuration(clinic.frame, clinic.configurations[advice.best])
    (tmp_path / "chosen.yaml").write_text(yaml_of(summary, advice.best), encoding="utf-8")
    chosen = ao.load_configurations(tmp_path / "chosen.yaml")
    assert list(chosen) == [advice.best]
    assert chosen.label == clinic.label
    pd.testing.assert_frame_equal(ao.apply_configuration(clinic.frame, chosen[advice.best]), expected)
    sql, reason = sql_of(summary, advice.best)
    assert reason == ""
    source = clinic.frame  # noqa: F841  read by DuckDB under its name
    masked = duckdb.sql(sql).df()
    pd.testing.assert_frame_equal(
        masked.astype(str), expected[list(masked.columns)].astype(str), check_dtype=False
    )


def test_sql_that_needs_more_says_what_and_no_file_of_a_summary_is_read(
    clinic: ao.datasets.Dataset, tmp_path: Path
) -> None:
    closed = ao.summarize(clinic.frame, clinic.label, {"c": {"weight": ao.Generalize(ranges=3)}})
    sql, reason = sql_of(closed, "c")
    assert sql == ""
    assert "can be written only for known" in reason
    assert "The SQL cannot be written here" in text_of(ao.advise(closed).report(tmp_path / "a.html"))
    secret = tmp_path / "secret.csv"
    secret.write_text("10,hidden\n")
    closed.save(tmp_path / "s.json")
    document = json.loads((tmp_path / "s.json").read_text())
    for table in document["attributes"]["weight"]["tables"]:
        table["mask"] = {"function": "generalize", "hierarchy": str(secret), "level": 1}
    (tmp_path / "s.json").write_text(json.dumps(document))
    advice = ao.advise(tmp_path / "s.json")
    assert advice.summary is not None
    told = "the mask of 'weight' names a file, which only the provider has"
    assert sql_of(advice.summary, "c") == ("", told)
    assert "hidden" not in text_of(advice.report(tmp_path / "b.html"))


def test_it_says_how_to_make_it_again(
    summary: ao.Summary, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    summary.save("my summary.json")
    digest = sha256(Path("my summary.json").read_bytes()).hexdigest()
    words = ["--measure", "mi", "--rounding", "drawn", "--seed", "3", "--replicates", "2", "--no-histograms"]
    assert main(["advise", "my summary.json", *words, "--report", "a.html", "--json"]) == 0
    text = text_of(Path("a.html"))
    assert digest in text
    assert f"aegis-opt {ao.__version__}" in text
    [command] = re.findall(r"Command (aegis-opt advise .*?) In Python", text)
    assert command.startswith("aegis-opt advise 'my summary.json' --measure mi")
    import shlex

    again = shlex.split(command)[1:]
    again[-1] = "b.html"
    assert main([*again, "--json"]) == 0
    written = re.compile(r"20\d\d-\d\d-\d\d \d\d:\d\d UTC")
    files = [Path(name).read_text().replace("b.html", "a.html") for name in ("a.html", "b.html")]
    pages = [written.sub("", text) for text in files]
    assert pages[0] == pages[1]
    advice = ao.advise("my summary.json", "mi", rounding="drawn", seed=3, replicates=2, histograms=False)
    repeated = eval(call_of(advice), {"ao": ao})
    pd.testing.assert_frame_equal(repeated.ranking, advice.ranking)
    assert "SHA-256 of the summary as a .json file " + digest in text_of(
        ao.advise(summary, "mi").report("c.html")
    )
    options = ao.advise(summary, "mi", solver="convex", norm="l2", chance=True)
    assert command_of(options, "r.html") == (
        "aegis-opt advise summary.json --measure mi --solver convex --chance --option norm=l2 --report r.html"
    )


def test_a_loaded_advice_has_the_same_record(summary: ao.Summary, tmp_path: Path) -> None:
    advice = ao.advise(summary)
    advice.save(tmp_path / "advice.json")
    found = ao.Advice.load(tmp_path / "advice.json")
    assert (
        text_of(found.report(tmp_path / "a.html"))[100:3000]
        == text_of(advice.report(tmp_path / "b.html"))[100:3000]
    )


@pytest.mark.parametrize(("attributes", "configurations"), [(2, 5000), (500, 60)])
def test_many_attributes_and_configurations_are_searched_within_the_size(
    attributes: int, configurations: int, tmp_path: Path
) -> None:
    rng = np.random.default_rng(0)
    names = [f"attribute-{i:03}" for i in range(attributes)]
    frame = pd.DataFrame(rng.integers(0, 4, (50, attributes)), columns=names)
    frame["y"] = rng.integers(0, 2, 50)
    few = ao.summarize(
        frame, "y", {f"c{i}": dict.fromkeys(names, ao.Bucketize(width=2 + i)) for i in range(2)}
    )
    chosen = list(few.configurations.values())
    many = replace(
        few, configurations={f"configuration-{i:04}": dict(chosen[i % 2]) for i in range(configurations)}
    )
    page = ao.advise(many, "mi").report(tmp_path / "a.html")
    assert page.stat().st_size < MOST_BYTES
    html = page.read_text(encoding="utf-8")
    assert f"Shown are the first 50 of {configurations:,} configurations." in html
    rows = rows_of(html, "configurations-rows")
    assert {row[1] for row in rows} == set(many.configurations)
    if attributes > 50:
        assert "Shown are the first 50 of 500 attributes." in html
        assert len(rows_of(html, "attributes-rows")) == len(rows_of(html, "masks-rows")) == 500


def test_rows_beyond_the_room_of_a_page_are_said_to_be_left_out() -> None:
    rows = [[f"{i:04}", "x" * 90] for i in range(1000)]
    html = search_table("things", ["a", "b"], rows, most_bytes=10_000, elsewhere="things.all")
    kept = rows_of(html, "things-rows")
    assert len(kept) < 100
    assert f"The search knows the first {len(kept)}; things.all has all." in html
    assert len(html) < 30_000


def rows_of(html: str, name: str) -> list[Any]:
    [data] = re.findall(rf'<script type="application/json" id="{name}">(.*?)</script>', html, flags=re.S)
    return list(json.loads(data))


@pytest.mark.parametrize("name", ["", "folder", "advice.txt"])
def test_what_is_no_page_is_refused(summary: ao.Summary, name: str, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    with pytest.raises(InvalidInput, match=r"must name a page that ends in \.html"):
        ao.advise(summary, "mi").report(tmp_path / name)


def test_the_command_refuses_another_ending(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["advise", "s.json", "--report", "a.pdf"])
    assert caught.value.code == 2
    assert "must end in .html" in capsys.readouterr().err


def test_privacy_that_was_required_is_shown_with_what_fails(
    clinic: ao.datasets.Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    rules = [ao.privacy.KAnonymity(2), ao.privacy.LDiversity(2, kind="entropy")]
    masks = {f"w{w}": {"age": ao.Bucketize(width=w), "zip": ao.Suppress()} for w in (1, 2, 50)}
    ao.summarize(clinic.frame, clinic.label, masks, rules=rules).save("s.json")
    ranked = ao.advise("s.json", "mi")
    text = text_of(ranked.report("ranked.html"))
    assert "The ranking above shows for each configuration: k_anonymity, entropy_l_diversity." in text
    advice = ao.advise("s.json", "mi", require=ao.privacy.KAnonymity(2))
    assert len(advice.excluded) > 0
    text = text_of(advice.report("a.html"))
    assert (
        f"Required of each configuration: k=2. {len(advice.excluded)} that fail are out of the ranking"
        in text
    )
    for name, reason in advice.excluded.itertuples(index=False):
        assert f"{name} {reason}" in text
    assert f"{len(advice.excluded)} fail the privacy rules" in str(advice)
    assert (
        command_of(advice, "a.html") == "aegis-opt advise s.json --measure mi --require k=2 --report a.html"
    )
    both = ao.advise(
        "s.json", "mi", require=[ao.privacy.KAnonymity(1), ao.privacy.LDiversity(1, kind="entropy")]
    )
    again = eval(call_of(both), {"ao": ao})
    pd.testing.assert_frame_equal(again.ranking, both.ranking)
    assert again.asked == both.asked
