"""The head of the page: what was run, on what, when, and what was left out."""

from __future__ import annotations

from collections import Counter
from html import escape
from itertools import product
from textwrap import shorten
from typing import Any

from aegis_opt.harness.schema import FAILED, KEYS, NO_WINNER, SKIPPED, TIMED_OUT
from aegis_opt.harness.store import Results
from aegis_opt.report.series import plural

_NOTICES, _REASON = 8, 160  # skipped variants named in the head, and letters of their reasons


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
        f'<div class="tile {mood if number != "0" else ""}"><b>{number}</b><span>{text}</span></div>'
        for number, text, mood in tiles
    )


def facts(results: Results) -> str:
    """Say when, where and on what the comparison was run."""
    meta = results.meta
    machine, software, plan = meta.get("machine", {}), meta["software"], meta["plan"]
    limit = meta["settings"].get("time_limit")
    date = str(meta.get("started", "unknown")).replace("T", " ").replace("+00:00", " UTC")
    if "continued" in meta:
        date += f", continued {str(meta['continued']).replace('T', ' ').replace('+00:00', ' UTC')}"
    facts = [
        ("Run", date),
        ("Seeds", _listing(plan.get("seeds", []))),
        ("Time limit", f"{limit:g} s per run" if limit is not None else "none"),
        ("Processor", f"{machine.get('cpu', 'unknown')}, {plural(int(machine.get('cores') or 0), 'core')}"),
        (
            "Software",
            f"aegis-opt {software.get('aegis-opt', '?')}, Python {software.get('python', '?')}",
        ),
        ("Measures", _listing(plan.get("measures", []))),
        ("Scopes", _listing(plan.get("scopes", []))),
        ("Histograms", " and ".join("with" if used else "without" for used in plan.get("histograms", []))),
    ]
    for name, about in meta["datasets"].items():
        size = plural(int(about.get("records", 0)), "record")
        attributes, configurations = len(about.get("attributes", {})), len(about.get("configurations", []))
        facts.append(
            (
                f"Data set {name}",
                f"{size}, {plural(attributes, 'attribute')}, {plural(configurations, 'configuration')}, "
                f"label {about.get('label')} ({plural(len(about.get('label_counts', [])), 'value')})",
            )
        )
    return "".join(
        f"<div><dt>{escape(name)}</dt><dd>{escape(text or '-')}</dd></div>" for name, text in facts
    )


def notices(results: Results) -> str:
    """Say up front what was skipped, and what the plan has that the results do not."""
    notices = [f'<li class="warn"><b>Skipped</b> {escape(text)}</li>' for text in _skipped(results)]
    missing = _missing(results)
    if missing:
        shown = "; ".join(" ".join(map(str, key)) for key in missing[:3])
        more = f" and {len(missing) - 3} more" if len(missing) > 3 else ""
        notices.append(
            f'<li class="bad"><b>Incomplete</b> No advice for {plural(len(missing), "combination")} planned '
            f"(not run yet, or the run was stopped): {escape(shown + more)}.</li>"
        )
    return f'<ul class="notices">{"".join(notices)}</ul>' if notices else ""


def _skipped(results: Results) -> list[str]:
    reasons: dict[str, Counter[str]] = {}
    for frame in (results.advice, results.reconstructions):
        for row in frame[frame["status"] == SKIPPED].to_dict("records"):
            reasons.setdefault(str(row["variant"]), Counter())[str(row["error"])] += 1
    texts = []
    for variant, counts in sorted(reasons.items()):
        reason, _ = counts.most_common(1)[0]
        other = f" (and {plural(len(counts) - 1, 'other reason')})" if len(counts) > 1 else ""
        told = shorten(reason, _REASON, placeholder=" ...")
        texts.append(f"{variant}: {plural(counts.total(), 'row')}. {told}{other}")
    if len(texts) > _NOTICES:
        texts[_NOTICES:] = [f"{len(texts) - _NOTICES} more variants; the last table has all"]
    return texts


def _missing(results: Results) -> list[tuple[Any, ...]]:
    if results.advice.empty:  # a comparison of reconstructions alone
        return []
    plan = results.meta["plan"]
    order = [key for key in KEYS["advice"] if key != "seed"]
    values = {"dataset": list(results.meta["datasets"])} | {key: plan.get(f"{key}s", []) for key in order[1:]}
    have = set(results.advice[order].itertuples(index=False, name=None))
    return [key for key in product(*(values[name] for name in order)) if key not in have]


def software(meta: dict[str, Any]) -> str:
    """List the versions that ran."""
    rows = "".join(
        f"<div><dt>{escape(name)}</dt><dd>{escape(str(number))}</dd></div>"
        for name, number in meta["software"].items()
    )
    system = escape(str(meta.get("machine", {}).get("system", "unknown")))
    return f'<dl class="facts">{rows}<div><dt>system</dt><dd>{system}</dd></div></dl>'


def _listing(values: list[Any], shown: int = 12) -> str:
    texts = [str(value) for value in values]
    return ", ".join(texts[:shown]) + (f" and {len(texts) - shown} more" if len(texts) > shown else "")
