"""What a search found: the best configuration, its cost, and how far that is proved."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from aegis_opt._display import FEW, Card, Displayed
from aegis_opt._options import number, whole_number
from aegis_opt.errors import InvalidOption
from aegis_opt.masks import Configuration
from aegis_opt.privacy._base import PrivacyRule
from aegis_opt.privacy._lattice._branch import Branching
from aegis_opt.privacy._lattice._certificate import Certificate, certificate_of
from aegis_opt.privacy._lattice._task import Task, relative_gap
from aegis_opt.privacy._lattice._violations import Point

_COLUMNS = ["attribute", "candidate", "candidates", "mask", "groups", "unmasked", "masked", "kept", "loss"]


@dataclass(frozen=True, eq=False)
class Alternative:
    """A configuration that satisfies the rules, and where it stands in the order of costs.

    Attributes
    ----------
    best : Configuration
        The configuration.
    choice : dict of str to int
        For each attribute, the number of its candidate.
    cost : float
        The mean loss of the measure over the attributes.
    proved : bool
        Whether no other configuration belongs before it.
    """

    best: Configuration
    choice: dict[str, int]
    cost: float
    proved: bool


@dataclass(frozen=True, eq=False, repr=False)
class SearchResult(Displayed):
    """The configuration of least deviation among all combinations of candidates, under privacy rules.

    Attributes
    ----------
    best : Configuration or None
        The cheapest configuration found that satisfies the rules; None where the search was stopped before
        it found one.
    choice : dict of str to int, or None
        For each attribute, the number of its candidate.
    cost : float
        The mean over the attributes of what the measure loses, on all records.
    bound : float
        No configuration that satisfies the rules costs less.
    proved : bool
        Whether `cost` is the least: the two differ by no more than 1e-12 for each attribute (relative to the
        sum of the losses, where that is above 4,500).
    gap : float
        (cost - bound) / cost: 0 where the cost is proved.
    checks : int
        How many points of the lattice were tested.
    enumerated : bool
        Whether some rule is not monotone, so that configurations were tried one by one in the order of their
        costs.
    suppressed : int
        How many records lie in classes that violate a rule; they must be left out.
    interrupted : bool
        Whether Ctrl-C ended the search.
    seconds : float
        Time of the search, without that of reading the source.
    """

    rules: tuple[PrivacyRule, ...]
    suppression: float
    best: Configuration | None
    choice: dict[str, int] | None
    cost: float
    bound: float
    proved: bool
    checks: int
    enumerated: bool
    suppressed: int
    interrupted: bool
    seconds: float
    _task: Task
    _point: Point | None
    _rejected: Sequence[Point]
    _clauses: Sequence[Point]

    @classmethod
    def of(cls, task: Task, branching: Branching, finished: bool, seconds: float, name: str) -> SearchResult:
        """Collect what a search found."""
        space, best, cost = task.space, None, float("nan")
        point = None if branching.best is None else task.whole(branching.best)
        bound = task.mean(branching.lower)
        if point is not None:
            best = _configuration(task, point, name)
            cost = space.cost(point)
            bound = cost if finished else min(bound, cost)
        return cls(
            rules=task.rules,
            suppression=task.suppression,
            best=best,
            choice=None if point is None else dict(zip(space.names, point, strict=True)),
            cost=cost,
            bound=bound,
            proved=finished,
            checks=task.checks,
            enumerated=task.others is not None,
            suppressed=0 if point is None else task.everything.suppressed(task.quasi(point)),
            interrupted=branching.interrupted,
            seconds=seconds,
            _task=task,
            _point=point,
            _rejected=tuple(branching.rejected),
            _clauses=tuple(task.clauses.points),
        )

    @property
    def gap(self) -> float:
        """By how much of itself the cost may be above the least, at most."""
        return relative_gap(self.cost, self.bound) if self.best is not None else 1.0

    @property
    def measure(self) -> str:
        """The name of the measure."""
        return self._task.space.measure.name

    @property
    def unit(self) -> str:
        """The unit of the measure; empty for plain numbers."""
        return self._task.space.measure.unit

    @property
    def n_records(self) -> int:
        """Number of records."""
        return self._task.space.rows.n_records

    @property
    def n_configurations(self) -> int:
        """Number of combinations of candidates."""
        return int(np.prod([len(own) for own in self._task.space.masks.values()], dtype=object))

    @cached_property
    def r2_gcv(self) -> float:
        """How well all masked attributes together predict the label (R-squared; see `aegis_opt.scores`)."""
        return self._task.space.r2_gcv(self._found())

    @cached_property
    def attributes(self) -> pd.DataFrame:
        """One row per attribute.

        Columns: attribute, candidate (its number), candidates (how many there were), mask, groups (masked
        values), unmasked and masked (the measure), kept (the measure of the records that are left after
        suppression), loss.
        """
        point, task, space = self._found(), self._task, self._task.space
        rows = space.rows
        violating = task.everything.violating_rows(task.quasi(point))
        weights = [rows.counts, np.where(violating, 0, rows.counts)]
        found = []
        for i, (name, candidate) in enumerate(zip(space.names, point, strict=True)):
            groups = space.partitions[i].groups[candidate][rows.values[i]]
            k = len(space.label_domain)
            n_groups = space.groupings[i][candidate].n_groups
            masked, kept = (
                np.bincount(groups * k + rows.label, weights=own, minlength=n_groups * k).reshape(-1, k)
                for own in weights
            )
            value = float(space.measure.function(masked))
            left = float(space.measure.function(kept)) if kept.any() else float("nan")
            masks = space.masks[name]
            loss = float(space.losses[i][candidate])
            about = name, candidate, len(masks), repr(masks[candidate]), n_groups
            found.append((*about, space.unmasked[i], value, left, loss))
        return pd.DataFrame(found, columns=_COLUMNS)

    @cached_property
    def certificate(self) -> Certificate:
        """What lets others verify the result with a database and a solver of integer programs.

        Raises
        ------
        InvalidOption
            Where the result is not proved.
        """
        if not self.proved:
            raise InvalidOption(
                "there is no certificate, because the search was stopped before its end: give it more time"
            )
        return certificate_of(self._task, self._found(), self._clauses, self._rejected)

    def alternatives(self, n: int = 5, time_limit: float | None = None) -> list[Alternative]:
        """Return the next best configurations that satisfy the rules, each proved in its place.

        Parameters
        ----------
        n : int
            How many; fewer come where there are no more.
        time_limit : float, optional
            Seconds for all of them. The list ends where time is up, and its last entry may not be proved.

        Returns
        -------
        list of Alternative
            In the order of their costs.
        """
        n = whole_number("n", n, least=0)
        left = None if time_limit is None else number("time_limit", time_limit, above=0, unit="seconds")
        if not self.proved:
            raise InvalidOption(
                "the best configuration is not proved, so that nothing is known of the next ones: give the "
                "search more time"
            )
        return _next_best(self._task, self._found(), self._rejected, n, left)

    def _found(self) -> Point:
        if self._point is None:
            raise InvalidOption("the search was stopped before it found a configuration: give it more time")
        return self._point

    def to_dict(self) -> dict[str, Any]:
        """Return the result as JSON holds it."""
        return {
            "best": None if self.best is None else {n: m.to_spec() for n, m in self.best.items()},
            "choice": self.choice,
            "cost": None if self.best is None else self.cost,
            "bound": self.bound if np.isfinite(self.bound) else None,
            "gap": self.gap,
            "proved": self.proved,
            "enumerated": self.enumerated,
            "checks": self.checks,
            "seconds": self.seconds,
            "records": self.n_records,
            "suppressed": self.suppressed,
            "configurations": self.n_configurations,
            "measure": self.measure,
            "r2_gcv": None if self.best is None else self.r2_gcv,
        }

    def facts(self) -> list[tuple[str, str]]:
        """Return what people read first, as pairs of a heading and a text."""
        rules = " and ".join(map(str, self.rules))
        measure = self._task.space.measure
        if self.best is None:
            return [
                ("Rules", rules),
                ("Found", f"nothing yet; no configuration costs less than {self.bound:.6g}"),
            ]
        share = self.suppressed / self.n_records
        how = "proved the least" if self.proved else f"not proved: the least is above {self.bound:.6g}"
        if not self.proved:
            how += f", a gap of {self.gap:.2%}"
        tried = f"{self.checks:,} tests for {self.n_configurations:,} configurations, {self.seconds:.2f} s"
        if self.enumerated:
            tried += "; a rule is not monotone, so that configurations were tried one by one"
        return [
            ("Rules", f"{rules}, suppression up to {self.suppression:g}"),
            (
                "Cost",
                f"{self.cost:.6g} {measure.unit}".rstrip() + f" of {measure.title} lost on average; {how}",
            ),
            ("Suppressed", f"{self.suppressed:,} of {self.n_records:,} records ({share:.2%})"),
            ("Search", tried),
        ]

    def __repr__(self) -> str:
        if self.best is None:
            return f"<SearchResult: nothing found yet, bound {self.bound:.6g}, {self.checks:,} tests>"
        state = "proved" if self.proved else f"gap {self.gap:.2%}"
        return (
            f"<SearchResult: cost {self.cost:.6g} ({state}), {len(self.best)} attributes, "
            f"{self.suppressed:,} records suppressed, {self.checks:,} tests>"
        )

    def _card(self) -> Card:
        facts = self.facts()
        rows: list[list[str]] = []
        if self.best is not None:
            rows = [
                [row["attribute"], row["mask"], f"{row['groups']:,}", f"{row['loss']:.6g}"]
                for row in self.attributes.head(FEW).to_dict("records")
            ]
        return Card(
            title="Search under privacy rules",
            conclusion=f"{facts[1][1]}.",
            why=". ".join(f"{heading}: {text}" for heading, text in (facts[0], *facts[2:])) + ".",
            columns=["attribute", "mask", "masked values", "loss"] if rows else [],
            rows=rows,
            left=["attribute", "mask"],
            more="" if len(rows) < FEW else f"The first {FEW} attributes at most; found.attributes has all.",
            calls=[
                ("found.best", "is the configuration"),
                ("found.certificate.save(path)", "writes the proof"),
            ],
        )


def _configuration(task: Task, point: Point, name: str) -> Configuration:
    masks = {
        attribute: own[candidate]
        for (attribute, own), candidate in zip(task.space.masks.items(), point, strict=True)
    }
    return Configuration(masks, name=name)


def _next_best(
    task: Task, first: Point, rejected: Sequence[Point], n: int, seconds: float | None
) -> list[Alternative]:
    """Search again with what was found before left out."""
    import time

    end = None if seconds is None else time.monotonic() + seconds
    excluded = {task.quasi(first), *rejected}
    found: list[Alternative] = []
    while len(found) < n:
        branching = task.branching(excluded)
        finished = branching.solve(None if end is None else max(end - time.monotonic(), 0.0))
        if branching.best is None:
            break
        excluded |= {branching.best, *branching.rejected}
        point = task.whole(branching.best)
        chosen = dict(zip(task.space.names, point, strict=True))
        name = f"alternative {len(found) + 1}"
        found.append(Alternative(_configuration(task, point, name), chosen, task.space.cost(point), finished))
        if not finished:
            break
    return found
