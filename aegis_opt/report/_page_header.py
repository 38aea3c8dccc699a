"""The header of the page: what was run, on what, when, and what was left out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from html import escape
from itertools import product
from textwrap import shorten
from typing import Any

from aegis_opt.errors import InvalidOption, MissingDependency, UnknownSolver
from aegis_opt.harness import Results
from aegis_opt.harness._schema import FAILED, NO_WINNER, SKIPPED, TIMED_OUT
from aegis_opt.harness._variant import RANDOM, Variant
from aegis_opt.report._prepared_results import plural, time_limit

_NOTICES, _REASON = 8, 160  # skipped variants named in the header, and characters of a reason


def tiles(results: Results) -> str:
    """Count what was run and how it ended."""
    status = Counter([*results.advice["status"], *results.reconstructions["status"]])
    certified = int(results.advice["certified"].sum())
    tiles = [
        (f"{len(results.advice):,}", "advisor runs", ""),
        (f"{len(results.reconstructions):,}", "rows of reconstructions", ""),
        (f"{certified:,}", "advice certified", ""),
        (f"{status[NO_WINNER]:,}", "no winner named", ""),
        (f"{status[FAILED] + status[TIMED_OUT]:,}", "failed or timed out", "bad"),
        (f"{status[SKIPPED]:,}", "skipped", "warn"),
    ]
    return "".join(
        f'<div class="tile {severity if number != "0" else ""}"><b>{number}</b><span>{text}</span></div>'
        for number, text, severity in tiles
    )


def facts(results: Results) -> str:
    """Say when, where and on what the comparison was run."""
    meta = results.meta
    machine, software, plan = meta.get("machine", {}), meta["software"], meta["plan"]
    limit = time_limit(results)
    date = _date(meta.get("started", "unknown"))
    if "continued" in meta:
        date += f", continued {_date(meta['continued'])}"
    facts = [
        ("Run", date),
        ("Seeds", _listing(plan.get("seeds", []))),
        ("Time limit", f"{limit:g} s per run" if limit is not None else "none"),
        ("Processor", f"{machine.get('cpu', 'unknown')}, {plural(int(machine.get('cores') or 0), 'core')}"),
        ("Software", f"aegis-opt {software.get('aegis-opt', '?')}, Python {software.get('python', '?')}"),
        ("Measures", _listing(plan.get("measures", []))),
        ("Scopes", _listing(plan.get("scopes", []))),
        ("Histograms", " and ".join("with" if used else "without" for used in plan.get("histograms", []))),
    ]
    for name, about in meta["datasets"].items():
        size = plural(int(about.get("records", 0)), "record")
        attributes, configurations = len(about.get("attributes", {})), len(about.get("configurations", []))
        text = (
            f"{size}, {plural(attributes, 'attribute')}, {plural(configurations, 'configuration')}, "
            f"label {about.get('label')} ({plural(len(about.get('label_counts', [])), 'value')})"
        )
        facts.append((f"Data set {name}", text))
    return _definitions(facts)


def skipped(results: Results) -> str:
    """Say which variants were skipped, and why."""
    return _notices([f'<li class="warn"><b>Skipped</b> {escape(text)}</li>' for text in _skipped(results)])


def warnings(results: Results) -> str:
    """Say up front what the plan has that the results do not."""
    notices = []
    missing, planned = _missing(results)
    if missing:
        shown = "; ".join(" ".join(map(str, key)) for key in missing[:3])
        more = f" and {len(missing) - 3:,} more" if len(missing) > 3 else ""
        units = f"{len(missing):,} of {planned:,} units of work (an advisor run, or one attribute's tables)"
        if "continued" in results.meta:  # by the same call again or by another one: meta.json does not say
            severity, title = "warn", "Perhaps incomplete"
            text = (
                "The folder was made by several calls. Of all combinations of what they asked for, "
                f"{units} are not here: never requested together, not run yet, or stopped"
            )
        else:
            severity, title = "bad", "Incomplete"
            text = f"{units} that were planned are not here: not run yet, or the run was stopped"
        notices.append(f'<li class="{severity}"><b>{title}</b> {text}: {escape(shown + more)}.</li>')
    return _notices(notices)


def _notices(items: list[str]) -> str:
    return f'<ul class="notices">{"".join(items)}</ul>' if items else ""


def _skipped(results: Results) -> list[str]:
    reasons: dict[str, Counter[str]] = {}
    for frame in (results.advice, results.reconstructions):
        for row in frame[frame["status"] == SKIPPED].to_dict("records"):
            reasons.setdefault(str(row["variant"]), Counter())[str(row["error"])] += 1
    texts = []
    for variant, counts in sorted(reasons.items()):
        reason, _ = counts.most_common(1)[0]
        other = f" (and {plural(len(counts) - 1, 'other reason')})" if len(counts) > 1 else ""
        text = shorten(reason, _REASON, placeholder=" ...")
        texts.append(f"{variant}: {plural(counts.total(), 'row')}. {text}{other}")
    if len(texts) > _NOTICES:
        texts[_NOTICES:] = [f"{len(texts) - _NOTICES} more variants; the last table lists all"]
    return texts


def _missing(results: Results) -> tuple[list[tuple[Any, ...]], int]:
    """Return what the plan has and the results do not, and how much is planned.

    A table without any row is not looked for: some comparisons want only one of the two.
    """
    missing: list[tuple[Any, ...]] = []
    planned = 0
    for frame, about in ((results.advice, "measure"), (results.reconstructions, "attribute")):
        if frame.empty:
            continue
        keys = ["dataset", "variant", "scope", "histogram", about]
        have = set(frame[[*keys, "seed"]].itertuples(index=False, name=None))
        have_any = {key[:-1] for key in have}
        for key, seeds in _planned(results, about):
            planned += len(seeds)
            if len(seeds) > 1:
                missing += [(*key, f"seed {seed}") for seed in seeds if (*key, seed) not in have]
            elif key not in have_any:
                missing.append(key)
    return missing, planned


def _planned(results: Results, about: str) -> Iterator[tuple[tuple[Any, ...], list[int]]]:
    """List what was asked for, with its seeds: one where the seed makes no difference."""
    plan = results.meta["plan"]
    seeds = plan.get("seeds", [])
    for variant in plan.get("variants", []):
        if variant == RANDOM and about == "attribute":
            continue
        used = seeds if _is_random(variant, results) else seeds[:1]
        for name, described in results.meta["datasets"].items():
            last = plan.get("measures", []) if about == "measure" else described.get("attributes", {})
            for rest in product(plan.get("scopes", []), plan.get("histograms", []), last):
                yield (name, variant, *rest), used


def _is_random(name: str, results: Results) -> bool:
    """Whether a variant runs with every seed; one that is not known here does if it did once."""
    try:
        variant = Variant.parse(name)
        return not variant.is_random_choice and variant.reconstructor().is_random
    except (InvalidOption, UnknownSolver, MissingDependency):
        first = results.meta["plan"].get("seeds", [])[:1]
        frames = (results.advice, results.reconstructions)
        return any((~frame.loc[frame["variant"] == name, "seed"].isin(first)).any() for frame in frames)


def software(meta: dict[str, Any]) -> str:
    """List the versions that ran."""
    system = str(meta.get("machine", {}).get("system", "unknown"))
    versions = [(name, str(number)) for name, number in meta["software"].items()]
    return f'<dl class="facts">{_definitions([*versions, ("system", system)])}</dl>'


def _definitions(facts: list[tuple[str, str]]) -> str:
    found = ((escape(name), escape(text or "-")) for name, text in facts)
    return "".join(f"<div><dt>{name}</dt><dd>{text}</dd></div>" for name, text in found)


def _date(text: object) -> str:
    return str(text).replace("T", " ").replace("+00:00", " UTC")


def _listing(values: list[Any], shown: int = 12) -> str:
    texts = [str(value) for value in values]
    return ", ".join(texts[:shown]) + (f" and {len(texts) - shown} more" if len(texts) > shown else "")
