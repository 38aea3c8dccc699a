"""k-anonymity by search beside anjana: what each keeps, how well models do on it, and which records it drops.

Each draw keeps some attributes as quasi-identifiers; the others are not released. `anjana` raises levels one
after the other until every combination occurs k times or more (or few enough records are in the way, which it
drops). `aegis_opt.search` finds the levels of least deviation of all that satisfy the same rule, and proves
it. The deviation is that of mutual information, over the attributes kept. Accuracies are of models that are
trained and scored on the records that are released. In the last rows, search has all attributes to choose
from, where levels may be the whole range: such an attribute is not released.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from aegis_opt.errors import InvalidInput, UnknownColumn
from aegis_opt.harness import true_deviation
from aegis_opt.masks import Configurations, Generalize
from aegis_opt.privacy import KAnonymity, search
from aegis_opt.release import apply_configuration
from aegis_opt.report.charts import _theme as theme
from benchmarks.charts import panels, rows_of
from benchmarks.paper.anonymisation import Ladders, require_anjana
from benchmarks.paper.exhaustive import SplitError, train_and_score
from benchmarks.paper.experiments.base import Experiment, Settings, Tables
from benchmarks.paper.experiments.choices import read_frame, restricted
from benchmarks.paper.experiments.k_anonymity import KEPT, K

if TYPE_CHECKING:
    import altair as alt

_DRAWN = 6  # sets of quasi-identifiers, unless the settings say otherwise
_CLASSIFIERS = ("sgd", "rf", "nb")
_LIMITS = (0.0, 0.05)
_SECONDS = 60.0  # for a search among all attributes
_ALL = "all attributes"


def run(settings: Settings) -> dict[str, pd.DataFrame]:
    """Anonymise every data set by both, measure and train."""
    require_anjana()
    rows = []
    for given in settings.cases:
        label = given.label or str(restricted(given, None).label)
        frame = read_frame(given)
        if label not in frame:
            raise UnknownColumn("column", label, map(str, frame.columns))
        try:
            ladders = Ladders(frame, label, settings.hierarchies)
            rows += _of_data_set(given.name, frame, label, ladders, settings)
        except SplitError as error:
            raise SplitError(f"data set {given.name!r}: {error}") from error
        except InvalidInput as error:
            raise InvalidInput(f"data set {given.name!r}: {error}") from error
    releases = pd.DataFrame(rows)
    numbers = releases.columns.drop(["dataset", "kept", "limit", "method", "levels", "proved"])
    means = releases[releases["kept"] != _ALL].groupby(["dataset", "limit", "method"], sort=False)[
        list(numbers)
    ]
    return {"means": means.mean().reset_index(), "releases": releases}


def _of_data_set(
    name: str, frame: pd.DataFrame, label: str, ladders: Ladders, settings: Settings
) -> list[dict[str, Any]]:
    rng = np.random.default_rng(settings.seed)
    wanted = settings.configurations or _DRAWN
    size = min(KEPT, len(ladders.of))
    draws = (rng.choice(list(ladders.of), size, replace=False) for _ in range(20 * wanted))
    drawn = list(dict.fromkeys(tuple(sorted(kept.tolist())) for kept in draws))[:wanted]
    rows = []
    for place, kept in enumerate([*drawn, tuple(ladders.of)]):
        everything = place == len(drawn)
        if settings.progress is not None:
            settings.progress(f"anonymising {name}", place, len(drawn) + 1)
        for limit in _LIMITS:
            found = _found(frame, label, ladders, kept, limit, everything=everything)
            for method, (levels, proved, seconds) in found.items():
                row = {"dataset": name, "kept": _ALL if everything else ", ".join(kept), "limit": limit}
                row |= {"method": method, "levels": _shown(levels), "proved": proved, "seconds": seconds}
                rows.append(row | _judged(frame, label, ladders, levels, settings))
    return rows


def _found(
    frame: pd.DataFrame,
    label: str,
    ladders: Ladders,
    kept: Sequence[str],
    limit: float,
    *,
    everything: bool,
) -> dict[str, tuple[dict[str, int], bool | None, float]]:
    """Return for each method the levels, whether they are proved to be the best, and the seconds it took."""
    found: dict[str, tuple[dict[str, int], bool | None, float]] = {}
    if not everything:
        start = time.perf_counter()
        raised = ladders.raised_by_anjana(kept, K, limit)
        seconds = time.perf_counter() - start
        levels = {n: ladders.of[n].n_levels - 1 for n in kept} if raised is None else raised[0]
        found["anjana"] = levels, None, seconds
    start = time.perf_counter()
    best = search(
        frame,
        label,
        ladders.candidates(kept),
        require=KAnonymity(K),
        suppression=limit,
        time_limit=_SECONDS if everything else None,
    )
    seconds = time.perf_counter() - start
    if best.choice is None:  # the time was over before any was found
        levels = {n: ladders.of[n].n_levels - 1 for n in kept}
        found["search"] = levels, False, seconds
    else:
        found["search"] = dict(best.choice), best.proved, seconds
    return found


def _judged(
    frame: pd.DataFrame, label: str, ladders: Ladders, levels: Mapping[str, int], settings: Settings
) -> dict[str, float]:
    """Measure a release: its deviation, the records it drops, and accuracies on the others."""
    masks = {name: Generalize(hierarchy=ladders.of[name], level=level) for name, level in levels.items()}
    configurations = Configurations({"release": masks}, label=label)
    deviation = true_deviation(frame, "mi", label, configurations)["release"]
    masked = apply_configuration(frame, configurations["release"])
    sizes = masked.groupby(list(levels), dropna=False, observed=True)[label].transform("size")
    released = frame[(sizes >= K).to_numpy()]
    scores = train_and_score(
        released,
        label,
        configurations,
        settings.classifiers or _CLASSIFIERS,
        seed=settings.seed,
        n_jobs=settings.n_jobs,
    )
    accuracies = scores.set_index("classifier")["accuracy"]
    return {
        "deviation": float(deviation),
        "suppressed": float(len(frame) - len(released)),
        **{f"accuracy {name}": float(value) for name, value in accuracies.items()},
    }


def _shown(levels: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {level}" for name, level in levels.items())


def draw(tables: Tables) -> alt.ConcatChart:
    """Draw the deviation of each release by anjana and by search."""
    import altair as alt

    releases = tables["releases"]
    charts = []
    for (dataset, limit), part in releases.groupby(["dataset", "limit"], sort=False):
        chart = (
            alt.Chart(rows_of(part[["kept", "method", "deviation"]]))
            .mark_point(filled=True, size=60)
            .encode(
                x=alt.X("deviation:Q", title="deviation of mi, bits"),
                y=alt.Y("kept:N", sort=None, title=None, axis=alt.Axis(labelLimit=260)),
                color=alt.Color(
                    "method:N",
                    scale=alt.Scale(domain=["anjana", "search"], range=[theme.OTHER, theme.ACCENT]),
                    title=None,
                ),
                shape=alt.Shape("method:N", title=None),
            )
            .properties(
                title=f"{dataset}, up to {limit:.0%} of the records suppressed",
                width=240,
                height=alt.Step(20),
            )
        )
        charts.append(chart)
    return panels(charts, columns=len(_LIMITS))


EXPERIMENT = Experiment(
    name="k-anonymity-search",
    title=f"{K}-anonymous releases found by search, beside anjana's",
    section="Effectiveness on k-anonymization-based configurations",
    run=run,
    draw=draw,
    needs_configurations=False,
    takes=("classifiers", "configurations", "seed", "n_jobs", "hierarchies"),
    notes=(
        f"Each draw keeps {KEPT} attributes, along the hierarchies given (or made: intervals of width 5, 10, "
        "20, ...). anjana has no notion of the label. Where it finds nothing, every level is the highest. "
        "The accuracies are of the records that are released, so that they are of other records where more "
        "are suppressed."
    ),
)
