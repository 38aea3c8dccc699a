"""The decision record: one page for the data provider who must decide on a masking, and sign."""

from __future__ import annotations

import datetime as dt
import math
import os
from collections.abc import Iterable
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import Any

from aegis_opt._display import escaped
from aegis_opt._files import atomic_path
from aegis_opt._options import instance, path_of
from aegis_opt.advisor import Advice
from aegis_opt.advisor._conclusion import conclusion_of, decimals_of, kind_of, next_of
from aegis_opt.advisor._numbers import (
    bounds_text,
    bounds_title,
    decimals_for,
    figure_text,
    is_lower_bound,
    number_text,
    privacy_columns,
    title_of,
)
from aegis_opt.disclosure import audit
from aegis_opt.disclosure._card import LEFT, columns_of, rows_of
from aegis_opt.disclosure._card import conclusion_of as conclusion_of_audit
from aegis_opt.errors import InfeasibleProblem, InvalidInput, InvalidOption
from aegis_opt.report._embed import CHART_STYLE, PAGE_COLOURS, POLICY, chart_place, chart_scripts
from aegis_opt.report._plots import ATTRIBUTES, CONFIGURATIONS, PLACES, require_altair
from aegis_opt.report._record_chosen import sql_of, words_of, yaml_of
from aegis_opt.report._record_made import assumptions_of, facts_about
from aegis_opt.report._search_table import search_table
from aegis_opt.summary import ProtectedSummary, ScoreSummary, Summary
from aegis_opt.summary._card import card_of_numbers, card_of_protected, card_of_tables, disclosure_warnings
from aegis_opt.summary._noisy_tables import noisy_attributes

_KINDS = {
    "proved": "The order is proved from what was shared.",
    "estimated": "The order is estimated from what was shared, and not proved.",
    "cannot tell": "What was shared does not tell which configuration is the best.",
}
_RANKING_BYTES, _EXCLUDED_BYTES, _ATTRIBUTE_BYTES, _FACT_BYTES = 300_000, 100_000, 150_000, 150_000


def write_record(advice: Advice, path: str | os.PathLike[str]) -> Path:
    """Write the decision record of an advice; see `Advice.report`.

    Parameters
    ----------
    advice : Advice
        The advice, which knows the summary that it rests on.
    path : path
        The page; it is written whole or not at all.

    Returns
    -------
    Path
        The page.
    """
    instance("advice", advice, Advice, "aegis_opt.advise(summary) gives one")
    target = path_of("path", path)
    if os.path.isdir(target) or target.suffix.lower() not in (".html", ".htm"):
        raise InvalidInput(f"{target} must name a page that ends in .html, such as {target / 'advice.html'}")
    require_altair()
    text = _page(advice, target.name)
    with atomic_path(target) as temporary:
        temporary.write_text(text, encoding="utf-8", newline="\n")
    return target


def _page(advice: Advice, name: str) -> str:
    assets = files("aegis_opt.report") / "assets"
    sections = [
        _section("Ranking", _ranking(advice)),
        _section("Attributes", _attributes(advice)),
        _section("Privacy", _privacy(advice)),
        _section("The chosen configuration", _chosen(advice)),
        _section("What the shared summary discloses", _disclosed(advice)),
        _section("What was assumed", _list(assumptions_of(advice))),
        _section("How this was made", _made(advice, name)),
    ]
    return Template((assets / "record.html").read_text(encoding="utf-8")).substitute(
        policy=escaped(POLICY),
        title=escaped(f"Decision record: {advice.best or 'cannot tell'}"),
        style=PAGE_COLOURS + CHART_STYLE + (assets / "record.css").read_text(encoding="utf-8"),
        header=_header(advice),
        sections="\n".join(sections),
        charts=chart_scripts(),
        script=(assets / "record.js").read_text(encoding="utf-8"),
    )


def _header(advice: Advice) -> str:
    kind = kind_of(advice)
    label = "" if advice.summary is None else f" to predict {advice.summary.label}"
    parts = [
        f'<p class="about">Which masking keeps the attributes useful{escaped(label)}?</p>',
        f"<h1>{escaped(conclusion_of(advice))}</h1>",
        f'<p><span class="kind {kind.split()[0]}">{kind}</span> {_KINDS[kind]}</p>',
        f"<p>{escaped(advice.reason)}</p>",
    ]
    if next_of(advice):
        parts.append(f"<p>Why not the next one? {escaped(next_of(advice))}</p>")
    warnings = [warning for warning in advice.warnings if warning != advice.reason]
    if warnings:
        parts.append(f'<div class="warnings"><h2>Warnings</h2>{_list(warnings)}</div>')
    return "\n".join(parts)


def _ranking(advice: Advice) -> str:
    from aegis_opt.report.charts._ranking import ranking_chart

    ranking, by, decimals = advice.ranking, advice.ranked_by, decimals_of(advice)
    what = title_of(advice.criterion)
    less = by == "pud" or not advice.criterion.higher_is_better
    heading = f"Deviation of {what}" if by == "pud" else f"{what[0].upper()}{what[1:]} after masking"
    number = "score"
    if by == "pud":
        number = "deviation, at least" if is_lower_bound(ranking) else "deviation"
    bounded = bool(ranking[["pud_low", "pud_high"]].notna().any(axis=None))
    compared = "difference_low" in ranking
    extra = privacy_columns(advice.ranking)
    columns = ["rank", "configuration", number, *([bounds_title(ranking)] if bounded else [])]
    ranked = "rank_low" in ranking
    columns += [*(["behind the best"] if compared else []), *(["rank, 95%"] if ranked else []), *extra]
    rows = []
    for row in ranking.to_dict("records"):
        cells = [str(row["rank"]), str(row["configuration"]), number_text(row[by], decimals)]
        cells += [bounds_text(row["pud_low"], row["pud_high"], decimals)] if bounded else []
        cells += [bounds_text(row["difference_low"], row["difference_high"], decimals)] if compared else []
        cells += [f"{row['rank_low']} to {row['rank_high']}"] if ranked else []
        rows.append([*cells, *(figure_text(row[name]) for name in extra)])
    table = search_table(
        "configurations",
        columns,
        rows,
        left=["configuration", *extra],
        most_bytes=_RANKING_BYTES,
        elsewhere="advice.ranking",
    )
    places = min(PLACES, len(ranking))
    drawn = "" if places == len(ranking) else f" Drawn are the first {places} of {len(ranking):,}."
    told = f"<p>{escaped(heading)}; {'less' if less else 'more'} is better.{drawn}</p>"
    return told + chart_place("ranking", ranking_chart(advice, places, page=True)) + table


def _attributes(advice: Advice) -> str:
    from aegis_opt.report.charts._attributes import attributes_chart

    try:
        chart = attributes_chart(advice, CONFIGURATIONS, ATTRIBUTES, page=True)
    except InvalidOption as error:  # a score of all attributes together
        return f"<p>{escaped(error)}</p>"
    found = chart_place("attributes", chart)
    attributes = advice.attributes
    if "estimate" not in attributes:
        return found
    decimals = decimals_for(attributes["estimate"], advice.criterion.digits)
    bounded = "low" in attributes
    columns = ["attribute", "unmasked, estimated", *(["proved bounds", "given away"] if bounded else [])]
    rows = []
    for row in attributes.to_dict("records"):
        cells = [str(row["attribute"]), number_text(row["estimate"], decimals)]
        if bounded:
            cells += [bounds_text(row["low"], row["high"], decimals)]
            cells += ["-" if math.isnan(row["disclosed"]) else f"{row['disclosed']:.0%}"]
        rows.append(cells)
    what = title_of(advice.criterion)
    told = f"<p>{escaped(what[:1].upper() + what[1:])} of each attribute with the label, without a mask.</p>"
    return f"{found}{told}" + search_table(
        "attributes",
        columns,
        rows,
        left=["attribute"],
        most_bytes=_ATTRIBUTE_BYTES,
        elsewhere="advice.attributes",
    )


def _privacy(advice: Advice) -> str:
    checked, required = privacy_columns(advice.ranking), advice.asked.get("require")
    parts = []
    if required is not None:
        told = f"Required of each configuration: {required}."
        if len(advice.excluded):
            told += f" {len(advice.excluded):,} that fail are out of the ranking:"
        parts.append(f"<p>{escaped(told)}</p>")
    if len(advice.excluded):
        parts.append(
            search_table(
                "excluded",
                ["configuration", "reason"],
                advice.excluded.to_numpy().tolist(),
                left=["configuration", "reason"],
                most_bytes=_EXCLUDED_BYTES,
                elsewhere="advice.excluded",
            )
        )
    if checked:
        parts.append(f"<p>The ranking above shows for each configuration: {escaped(', '.join(checked))}.</p>")
    if not parts:
        parts.append(
            "<p>It was not checked whether the configurations are private enough. A configuration that keeps "
            "more also shows more: check the chosen one before it is released.</p>"
        )
    return "".join(parts)


def _chosen(advice: Advice) -> str:
    if advice.best is None:
        return "<p>None is chosen.</p>"
    if advice.summary is None:
        return f"<p>{escaped(advice.best)}. Its masks are not known here: the summary is missing.</p>"
    words = search_table(
        "masks",
        ["attribute", "what becomes of its values"],
        words_of(advice.summary, advice.best),
        left=["attribute", "what becomes of its values"],
        most_bytes=_ATTRIBUTE_BYTES,
        elsewhere="the configuration file",
    )
    name = escaped(advice.best)
    file = yaml_of(advice.summary, advice.best)
    sql, reason = sql_of(advice.summary, advice.best)
    masks = "aegis-opt mask people.csv --configurations chosen.yaml"
    parts = [f"<p><strong>{name}</strong> masks the attributes as follows.</p>{words}"]
    if file:
        parts.append(_text("As a file, chosen.yaml", file))
        parts.append(f"<p>This masks a table: <code>{masks} -o masked.csv</code></p>")
    else:
        parts.append("<p>The file is too long to be shown here: take it from the configurations.</p>")
    if sql:
        parts.append(_text("As SQL (DuckDB; source is the table)", sql))
        parts.append(f"<p>For other databases: <code>{masks} --sql postgresql</code></p>")
    else:
        told = f"The SQL cannot be written here: {reason}"
        parts.append(f"<p>{escaped(told.rstrip('.'))}. <code>{masks} --sql duckdb</code> writes it.</p>")
    return "".join(parts)


def _disclosed(advice: Advice) -> str:
    summary = advice.summary
    if summary is None:
        return "<p>The summary is missing.</p>"
    facts = summary.facts()
    absent = facts["about"] == "not in the file"
    warnings = disclosure_warnings(summary) if isinstance(summary, Summary) else []
    if isinstance(summary, ScoreSummary):
        card = card_of_numbers(summary, None)
    else:
        card = (
            card_of_tables(summary, None)
            if isinstance(summary, Summary)
            else card_of_protected(summary, None)
        )
    told = f"All {len(facts) - int(absent.sum()):,} facts that whoever has the summary learns"
    parts = search_table(
        "shared attributes",
        card.columns,
        card.rows,
        left=card.left,
        most_bytes=_ATTRIBUTE_BYTES,
        elsewhere="summary.report()",
    )
    table = search_table(
        "facts",
        ["about", "fact", "content"],
        facts.loc[~absent].to_numpy().tolist(),
        left=["about", "fact", "content"],
        most_bytes=_FACT_BYTES,
        elsewhere="summary.facts()",
    )
    missing = f"<p>Not in it:</p>{_list(facts.loc[absent, 'content'])}"
    details = f"<details><summary>{escaped(told)}</summary>{table}</details>"
    warned = _list(warnings) if warnings else ""
    audited = "" if isinstance(summary, ProtectedSummary) else _audited(summary)  # its counts bound nothing
    return f"<p>{escaped(card.conclusion)}</p>{warned}{parts}{audited}{missing}{details}"


def _audited(summary: Summary | ScoreSummary) -> str:
    """Say which counts of the raw tables follow from the shared ones."""
    if isinstance(summary, Summary) and (noisy := noisy_attributes(summary)):
        return (
            f"<p>Noise was added to {escaped(', '.join(noisy))}. Noisy counts determine no exact count; what "
            "they tell about a record is bounded by epsilon.</p>"
        )
    try:
        found = audit(summary)
    except InfeasibleProblem as error:  # the advice was asked to repair the totals, or to relax them
        return f"<p>What follows from the tables together is not known: {escaped(error)}</p>"
    told = f"<p>{escaped(conclusion_of_audit(found))}"
    if not found.bounds:
        return f"{told}</p>"
    table = search_table(
        "audit",
        columns_of(found),
        rows_of(found),
        left=LEFT,
        most_bytes=_ATTRIBUTE_BYTES,
        elsewhere="aegis_opt.audit(summary)",
    )
    return (
        f"{told} A cell is pinned where every table that agrees with all that is shared has the same count "
        f"there: whoever reads the summary knows it.</p>{table}"
    )


def _made(advice: Advice, name: str) -> str:
    written = dt.datetime.now(dt.UTC).strftime("%Y-%m-%d %H:%M UTC")
    rows = "".join(
        f"<dt>{escaped(what)}</dt><dd>{escaped(text)}</dd>"
        for what, text in facts_about(advice, name, written)
    )
    return f'<dl class="made">{rows}</dl>'


def _section(title: str, content: str) -> str:
    return f"<section><h2>{escaped(title)}</h2>{content}</section>"


def _list(texts: Iterable[Any]) -> str:
    return f"<ul>{''.join(f'<li>{escaped(text)}</li>' for text in texts)}</ul>"


def _text(title: str, text: str) -> str:
    return (
        f"<h3>{escaped(title)}</h3>"
        f'<pre role="region" tabindex="0" aria-label="{escaped(title)}">{escaped(text)}</pre>'
    )
