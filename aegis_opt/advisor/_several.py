"""Advice for several labels together: one masked table serves several purposes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np
import pandas as pd

from aegis_opt._display import FEW, Card, Displayed
from aegis_opt._options import instance, mapping_of
from aegis_opt._shown import shown
from aegis_opt.advisor._advice import Advice
from aegis_opt.errors import InvalidOption
from aegis_opt.masks._configuration import UnknownKey

_RANK = "rank_"  # before the name of a label: the column of its ranks


class Advices(Mapping[str, Advice], Displayed):
    r"""One advice for each of several labels, and the ranking for all of them together.

    The joint ranking is by the mean of the ranks that a configuration has for the labels, and where that is
    equal by its worst loss,

    .. math:: \max_l \frac{v_l^* - v_l(c)}{v_l^* - \bar v_l},

    where v_l(c) is the score of configuration c for label l (or minus its deviation), v_l* that of the
    label's winner, and the mean is over all configurations. A loss of 0 is the winner's own; 1 is what a
    random choice costs on average. So labels are comparable whatever they are measured by. A race does not
    score all configurations alike; there, ranks stand for scores.

    Parameters
    ----------
    advices : mapping of str to Advice
        For each label, the advice; all about the same configurations.

    Attributes
    ----------
    ranking : DataFrame
        Columns configuration, mean_rank, worst_loss, worst_label (of which label that loss is) and the rank
        for each label as rank_NAME; best first. Labels whose advice names no winner do not count.
    best : str or None
        The first of the ranking; None where no label has a winner.
    tied : tuple of str
        All configurations that share the first place, in mean rank and worst loss.
    certified : bool
        Whether the order of every label is proved, and so the joint one, given the same mean of ranks.
    warnings : tuple of str
        Those of every label, and labels that do not count.
    reason : str
        Why this winner, or why none.

    Examples
    --------
    >>> import aegis_opt as ao
    >>> clinic = ao.datasets.clinic(500)
    >>> frame = clinic.frame.assign(heavy=clinic.frame["weight"] > 75)
    >>> masks = {"wide": {"age": ao.Bucketize(width=20)}, "narrow": {"age": ao.Bucketize(width=5)}}
    >>> together = ao.advise(ao.summarize(frame, ["health", "heavy"], masks), measure="mi")
    >>> together.best, together.certified, together["heavy"].best
    ('narrow', True, 'narrow')
    >>> together.ranking[["configuration", "mean_rank", "worst_loss"]]
      configuration  mean_rank  worst_loss
    0        narrow        1.0         0.0
    1          wide        2.0         2.0
    """

    def __init__(self, advices: Mapping[str, Advice]) -> None:
        mapping_of("advices", advices, "map each label to its advice")
        for label, advice in advices.items():
            instance(f"the advice of {shown(label)}", advice, Advice, "aegis_opt.advise gives one")
        self._by_label = MappingProxyType(dict(advices))
        if not self._by_label:
            raise InvalidOption("advice for several labels needs at least one label")
        names = [set(advice.ranking["configuration"]) for advice in self._by_label.values()]
        odd = sorted(set.union(*names) - set.intersection(*names))
        if odd:
            raise InvalidOption(
                f"the advice of every label must rank the same configurations; check {shown(odd)}"
            )
        self.counted = tuple(label for label, advice in self._by_label.items() if advice.best is not None)
        self.ranking = self._ranking()

    def _ranking(self) -> pd.DataFrame:
        first = next(iter(self._by_label.values())).ranking["configuration"]
        names = list(first)
        ranks = pd.DataFrame(
            {label: advice.ranking.set_index("configuration")["rank"] for label, advice in self.items()}
        ).loc[names]
        losses = pd.DataFrame({label: _losses(self[label]) for label in self.counted}, index=names)
        ranking = pd.DataFrame({"configuration": names})
        if self.counted:
            ranking["mean_rank"] = ranks[list(self.counted)].mean(axis=1).to_numpy(float)
            ranking["worst_loss"] = losses.max(axis=1).to_numpy(float)
            ranking["worst_label"] = losses.idxmax(axis=1).to_numpy()
        else:
            ranking = ranking.assign(mean_rank=np.nan, worst_loss=np.nan, worst_label=None)
        for label in self._by_label:
            ranking[_RANK + label] = ranks[label].to_numpy()
        return ranking.sort_values(["mean_rank", "worst_loss"], kind="stable", ignore_index=True)

    def __getitem__(self, label: str) -> Advice:
        if label not in self._by_label:
            raise UnknownKey("label", label, self._by_label)
        return self._by_label[label]

    def __iter__(self) -> Iterator[str]:
        return iter(self._by_label)

    def __len__(self) -> int:
        return len(self._by_label)

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels, in the order of the summaries."""
        return tuple(self._by_label)

    @property
    def tied(self) -> tuple[str, ...]:
        """All configurations that share the first place."""
        if not self.counted:
            return ()
        first = self.ranking.iloc[0]
        same = (self.ranking["mean_rank"] == first["mean_rank"]) & (
            self.ranking["worst_loss"] == first["worst_loss"]
        )
        return tuple(self.ranking["configuration"][same])

    @property
    def best(self) -> str | None:
        """The configuration of the least mean rank; of several such, the one of the least worst loss."""
        return str(self.ranking["configuration"].iloc[0]) if self.counted else None

    @property
    def certified(self) -> bool:
        """Whether the order of every label is proved."""
        return all(advice.certified for advice in self._by_label.values())

    @property
    def warnings(self) -> tuple[str, ...]:
        """What to beware of, label by label."""
        found = [f"{label}: {warning}" for label, advice in self.items() for warning in advice.warnings]
        found += [
            f"{label}: no winner, so it does not count: {self[label].reason}"
            for label in self
            if label not in self.counted
        ]
        return tuple(found)

    @property
    def reason(self) -> str:
        """Why this winner, or why none."""
        if not self.counted:
            return "no label has a winner: " + "; ".join(f"{label}: {a.reason}" for label, a in self.items())
        first = self.ranking.iloc[0]
        places = ", ".join(f"{first[_RANK + label]} for {label}" for label in self.counted)
        name, mean, loss = first["configuration"], first["mean_rank"], first["worst_loss"]
        text = (
            f"{name} has the least mean rank, {mean:.4g}: place {places}. Its worst loss is {loss:.3g} of "
            f"what a random choice costs, for {first['worst_label']}"
        )
        winners = {label: self[label].best for label in self.counted}
        if set(winners.values()) == {first["configuration"]}:
            return f"{text}; it is the winner for every label."
        others = [f"{name} for {label}" for label, name in winners.items() if name != first["configuration"]]
        return f"{text}. Alone, the winner would be {', '.join(others)}."

    def to_dict(self) -> dict[str, Any]:
        """Return the joint ranking and the advice of each label as plain values, for JSON."""
        rows = self.ranking.astype(object).where(self.ranking.notna(), None).to_dict("records")
        return {
            "best": self.best,
            "tied": list(self.tied),
            "certified": self.certified,
            "reason": self.reason,
            "warnings": list(self.warnings),
            "ranking": rows,
            "labels": {label: advice.to_dict() for label, advice in self.items()},
        }

    def _card(self, most: int | None = FEW) -> Card:
        ranking = self.ranking if most is None else self.ranking.head(most)
        labels = list(self)[:_MOST_COLUMNS]
        rows = [
            [
                str(row["configuration"]),
                f"{row['mean_rank']:.4g}",
                f"{row['worst_loss']:.3g}",
                *(str(row[_RANK + label]) for label in labels),
            ]
            for row in ranking.to_dict("records")
        ]
        hidden = len(self.ranking) - len(ranking)
        more = ["Under each label is the rank for it."]
        more += [f"{hidden:,} more in advices.ranking." if hidden else ""]
        more += [f"{len(self) - len(labels)} more labels there." if len(self) > len(labels) else ""]
        return Card(
            title=f"Advice for {len(self):,} labels: {len(self.ranking):,} configurations by mean rank",
            conclusion=self.conclusion,
            why=self.reason if self.counted else "",
            columns=["configuration", "mean rank", "worst loss", *labels],
            rows=rows,
            left=["configuration"],
            more=" ".join(filter(None, more)),
            warnings=self.warnings,
            calls=[(f"advices[{next(iter(self))!r}]", "is the advice for one label")],
        )

    @property
    def conclusion(self) -> str:
        """What to do, in one sentence that names how certain it is."""
        if self.best is None:
            return "Cannot tell: no label has a winner."
        certain = "as is proved for each" if self.certified else "as far as is estimated, not proved"
        return f"Take {self.best}: it has the least mean rank over {len(self.counted)} labels, {certain}."

    def __repr__(self) -> str:
        return f"Advices(labels {', '.join(map(repr, self))}, best {self.best!r})"


_MOST_COLUMNS = 4  # labels that fit beside the ranking


def _losses(advice: Advice) -> pd.Series[float]:
    """Return what each configuration loses to the winner, as a share of what a random choice loses."""
    ranking = advice.ranking.set_index("configuration")
    by = advice.ranked_by
    values = ranking[by].astype(float)
    if (
        "stage" in ranking and not (ranking["stage"] == ranking["stage"].iloc[0]).all()
    ):  # not all are scored alike
        by, values = "rank", ranking["rank"].astype(float)
    lower_is_better = by in ("pud", "rank") or not advice.criterion.higher_is_better
    behind = values - values.iloc[0] if lower_is_better else values.iloc[0] - values
    behind = behind.fillna(behind.max())  # a configuration without a score comes last
    at_random = float(behind.mean())
    return behind / at_random if at_random > 0 else behind * 0.0
