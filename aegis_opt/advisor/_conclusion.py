"""The conclusion of an advice in a sentence, its kind, and what an advice shows of itself."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal

import numpy as np

from aegis_opt._display import FEW, Card
from aegis_opt.advisor._numbers import (
    bounds_text,
    bounds_title,
    decimals_for,
    is_lower_bound,
    number_text,
    title_of,
)
from aegis_opt.summary import ProtectedSummary

if TYPE_CHECKING:
    from aegis_opt.advisor._advice import Advice

Kind = Literal["proved", "estimated", "cannot tell"]


def kind_of(advice: Advice) -> Kind:
    """How certain the conclusion is."""
    if advice.best is None:
        return "cannot tell"
    return "proved" if advice.certified else "estimated"


def conclusion_of(advice: Advice) -> str:
    """Say what to do, in one sentence that names how certain it is."""
    what, number = title_of(advice.criterion), len(advice.ranking)
    kind = kind_of(advice)
    if kind == "cannot tell":
        return f"Cannot tell: no configuration is named the best by {what}."
    among = f"of {number:,} configurations it" if number > 1 else "the only configuration; it"
    certain = "as is proved" if kind == "proved" else "as far as is estimated, not proved"
    return f"Take {advice.best}: {among} keeps the attributes most predictive by {what}, {certain}."


def next_of(advice: Advice) -> str:
    """Say why not the configuration that follows the winner; empty where there is none."""
    ranking = advice.ranking
    if advice.best is None or len(ranking) < 2:
        return ""
    if len(advice.tied) > 1:
        others = len(advice.tied) - 1
        return (
            f"{_few(advice, others)} share{'s' if others == 1 else ''} the first place with {advice.best}: "
            "choose among them by other reasons, such as privacy."
        )
    by, second = advice.ranked_by, ranking.iloc[1]
    name = second["configuration"]
    behind = abs(float(second[by]) - float(ranking[by].iloc[0]))
    if math.isnan(behind):
        return f"{name} comes next; its {by} is unknown."
    digits = decimals_for([behind], advice.criterion.digits)
    text = f"{name} comes next: its {'deviation' if by == 'pud' else 'score'} is worse by {behind:.{digits}f}"
    if name in advice.equivalent:
        source = "protected counts" if isinstance(advice.summary, ProtectedSummary) else "records"
        return f"{text}, a difference that these {source} cannot tell from none."
    if advice.certified and by == "pud":
        return f"{text}, whatever the unmasked tables are."
    return f"{text}."


def _few(advice: Advice, others: int) -> str:
    names = [name for name in advice.tied if name != advice.best]
    return ", ".join(names) if others <= 3 else f"{', '.join(names[:3])} and {others - 3} more"


def decimals_of(advice: Advice) -> int:
    """Decimals of the deviations or scores shown."""
    return decimals_for(advice.ranking[advice.ranked_by], advice.criterion.digits)


def card_of(advice: Advice, most: int | None = FEW) -> Card:
    """Describe an advice; `most` limits the rows of its table."""
    by, ranking, decimals = advice.ranked_by, advice.ranking, decimals_of(advice)
    shown = ranking if most is None else ranking.head(most)
    number = "score"
    if by == "pud":
        number = "deviation, at least" if is_lower_bound(ranking) else "deviation"
    bounded = bool(ranking[["pud_low", "pud_high"]].notna().any(axis=None))
    columns = ["rank", "configuration", number, *([bounds_title(ranking)] if bounded else [])]
    rows = []
    for row in shown.to_dict("records"):
        cells = [str(row["rank"]), str(row["configuration"]), number_text(row[by], decimals)]
        rows.append([*cells, *([bounds_text(row["pud_low"], row["pud_high"], decimals)] if bounded else [])])
    values = ranking[by].to_numpy(np.float64)
    largest = float(np.nanmax(np.abs(values), initial=0.0))
    bars = None
    if largest > 0 and advice.best is not None:
        bars = [0.0 if math.isnan(v) else max(v, 0.0) / largest for v in values[: len(rows)].tolist()]
    hidden = len(ranking) - len(shown)
    hidden_text = f"{hidden:,} more in advice.ranking." if hidden else ""
    what = title_of(advice.criterion)
    return Card(
        title=f"Advice: {len(ranking):,} configurations by {'deviation of ' if by == 'pud' else ''}{what}",
        conclusion=conclusion_of(advice),
        why=" ".join(filter(None, (advice.reason, next_of(advice)))),
        columns=columns,
        rows=rows,
        left=["configuration", bounds_title(ranking)],
        bars=bars,
        more=" ".join(filter(None, (hidden_text, _excluded(advice)))),
        warnings=[warning for warning in advice.warnings if warning != advice.reason],
        calls=[
            ("advice.plot()", "draws the ranking"),
            ("advice.explain()", "says what each mask costs"),
            ('advice.report("advice.html")', "writes the decision record"),
        ],
    )


def _excluded(advice: Advice) -> str:
    number = len(advice.excluded)
    return f"{number:,} fail the privacy rules: see advice.excluded." if number else ""
