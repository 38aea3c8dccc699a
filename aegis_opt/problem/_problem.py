"""The reconstruction problem: everything that is known about one joint table."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from aegis_opt._display import Card, Displayed
from aegis_opt._options import any_array, flag, float_array, list_of
from aegis_opt.errors import InvalidInput
from aegis_opt.problem._constraint import LinearConstraint
from aegis_opt.problem._margin import FloatArray, IntArray, Margin
from aegis_opt.problem._positions import given_positions, index_positions
from aegis_opt.problem._view import View, counts

FEWEST_RECORDS = 1e-6  # in all: far fewer, and products of counts would vanish
MOST_RECORDS = 2.0**53  # whole numbers beyond are not exact


@dataclass(frozen=True, eq=False)
class Problem(Displayed):
    """All that is known about the n x k table X of an attribute's values and the labels.

    A table is *feasible* when X >= 0, every view's totals and (where known) the 1-D histogram hold, cells
    with prior 0 are 0, and the extra constraints hold. Solvers look for the feasible table closest to the
    prior; where a view is noisy (`View` with a channel), for the feasible table that fits its counts best,
    and of the prior only the zeros count. Each view, the histogram and the prior have 1e-6 to 2^53 records in
    all, or none.

    Parameters
    ----------
    views : sequence of View
        Masked joint tables of the same attribute; at least one.
    histogram : array_like, shape (n,), optional
        How often each value occurs (row sums of X). A Series names the rows.
    prior : array_like, shape (n, k), optional
        The table to stay close to; uniform N / (n k) if None. A zero is a *structural zero*: that cell is
        0 in every feasible table, under every norm. A DataFrame names rows and columns.
    row_names, label_names : sequence, optional
        Names that the result's table carries; taken from pandas arguments where not given.
    constraints : sequence of LinearConstraint, optional
        Further linear constraints, for the solvers that take them.
    positions : array_like of numbers or dates, shape (n,), optional
        Where the values of an *ordered* attribute lie: increasing, NaN for a value that has no place in the
        order, such as the missing one. Taken from the names of the rows where these are distinct numbers or
        dates; names of type object give none, which declares the attribute *nominal*.

    Examples
    --------
    >>> problem = Problem([View([0, 0, 1], [[3, 1], [0, 2]])], histogram=[1, 3, 2])
    >>> problem.shape, problem.total
    ((3, 2), 6.0)
    """

    views: tuple[View, ...]
    histogram: FloatArray | None
    given_prior: FloatArray | None
    row_names: pd.Index | None
    label_names: pd.Index | None
    constraints: tuple[LinearConstraint, ...]
    positions: FloatArray | None

    def __init__(
        self,
        views: Sequence[View] | View,
        histogram: npt.ArrayLike | None = None,
        prior: npt.ArrayLike | None = None,
        *,
        row_names: Sequence[Any] | pd.Index | None = None,
        label_names: Sequence[Any] | pd.Index | None = None,
        constraints: Sequence[LinearConstraint] = (),
        positions: npt.ArrayLike | None = None,
    ) -> None:
        views = (views,) if isinstance(views, View) else tuple(views) if isinstance(views, Iterable) else ()
        if not views or not all(isinstance(view, View) for view in views):
            raise InvalidInput("a problem needs at least one View: Problem(views=[View(groups, joint)])")
        shape = (views[0].n_values, views[0].n_labels)
        for i, view in enumerate(views):
            if (view.n_values, view.n_labels) != shape:
                raise InvalidInput(
                    f"view {i} describes a {view.n_values} x {view.n_labels} table, view 0 one of "
                    f"{shape[0]} x {shape[1]}: all views of a problem are of the same attribute and label"
                )
        rows = None if histogram is None else counts(histogram, "the histogram", ndim=1)
        if rows is not None and len(rows) != shape[0]:
            raise InvalidInput(f"the histogram has {len(rows)} values, the views have {shape[0]}")
        table = None if prior is None else counts(prior, "the prior", ndim=2)
        if table is not None and table.shape != shape:
            raise InvalidInput(
                f"the prior is {table.shape[0]} x {table.shape[1]}, the views say {shape[0]} x {shape[1]}"
            )
        if table is not None and not table.any():
            raise InvalidInput("the prior is zero everywhere, so every cell is a structural zero")
        named = [(f"view {i}", view.joint) for i, view in enumerate(views)]
        named += [
            (name, known)
            for name, known in [("the histogram", rows), ("the prior", table)]
            if known is not None
        ]
        for name, known in named:
            _require_countable(name, float(known.sum()))
        constraints = list_of("constraints", constraints, LinearConstraint, "write LinearConstraint(...)")
        for constraint in constraints:
            if constraint.coefficients.shape != shape:
                raise InvalidInput(
                    f"constraint {constraint.name!r} is for a table of shape "
                    f"{constraint.coefficients.shape}, not {shape}"
                )
        row_sources = [view.row_names for view in views]
        row_sources += [histogram.index if isinstance(histogram, pd.Series) else None]
        row_sources += [prior.index if isinstance(prior, pd.DataFrame) else None]
        label_sources = [view.label_names for view in views]
        label_sources += [prior.columns if isinstance(prior, pd.DataFrame) else None]
        names = _names(row_names, row_sources, shape[0], "rows")
        vars(self).update(  # the way into a frozen dataclass whose arguments are converted
            views=views,
            histogram=rows,
            given_prior=table,
            row_names=names,
            label_names=_names(label_names, label_sources, shape[1], "labels"),
            constraints=constraints,
            positions=index_positions(names) if positions is None else given_positions(positions, shape[0]),
        )

    @classmethod
    def from_table(
        cls,
        table: npt.ArrayLike,
        groups: npt.ArrayLike | Sequence[npt.ArrayLike],
        histogram: bool = True,
        prior: npt.ArrayLike | None = None,
        *,
        label_groups: npt.ArrayLike | None = None,
        positions: npt.ArrayLike | None = None,
    ) -> Problem:
        """Derive what would be known about a known table, for research and tests.

        Parameters
        ----------
        table : array_like, shape (n, k)
            The true joint table.
        groups : array_like of int, shape (n,), or a list of such
            One masked view per partition of the rows.
        histogram : bool
            Whether the row sums are known, too.
        prior : array_like, optional
            As in `Problem`.
        label_groups : array_like of int, shape (k,), optional
            A masked label, the same in every view.
        positions : array_like, optional
            As in `Problem`; a numeric or date index of the table gives them, too.

        Examples
        --------
        >>> problem = Problem.from_table([[3, 0], [0, 1], [0, 2]], [0, 0, 1])
        >>> problem.views[0].joint.tolist(), problem.histogram.tolist()
        ([[3.0, 1.0], [0.0, 2.0]], [3.0, 1.0, 2.0])
        """
        truth = counts(table, "the table", ndim=2)
        several = isinstance(groups, list | tuple) and len(groups) > 0 and np.ndim(groups[0]) > 0
        partitions: list[Any] = list(groups) if several else [groups]  # type: ignore[arg-type]
        columns = np.arange(truth.shape[1])
        if label_groups is not None:
            columns = _partition("label_groups", label_groups, truth.shape[1], "column")
        known = flag("histogram", histogram)
        views = []
        for partition in partitions:
            ids = _partition("groups", partition, len(truth), "row")
            margin = Margin("", ids, columns, np.zeros((int(ids.max()) + 1, int(columns.max()) + 1)))
            views.append(View(ids, margin.sums(truth), None if label_groups is None else columns))
        frame = table if isinstance(table, pd.DataFrame) else None
        return cls(
            views,
            truth.sum(axis=1) if known else None,
            prior,
            row_names=None if frame is None else frame.index,
            label_names=None if frame is None else frame.columns,
            positions=positions,
        )

    def with_totals(self, joints: Iterable[npt.ArrayLike], histogram: npt.ArrayLike | None) -> Problem:
        """Return the same problem with other totals: a joint table for each view, and a histogram.

        Of a noisy view only the label totals are known, a table of one row; its counts are scaled to them.
        """
        joints = list(joints) if isinstance(joints, Iterable) else []
        if len(joints) != len(self.views):
            raise InvalidInput(f"joints must be a list of {len(self.views)} tables, one for each view")
        views = [
            view.with_joint(joint if view.channel is None else _with_label_totals(view.joint, joint))
            for view, joint in zip(self.views, joints, strict=True)
        ]
        return self.with_views(views, histogram)

    def with_views(self, views: Sequence[View], histogram: npt.ArrayLike | None) -> Problem:
        """Return a problem of the same attribute with other views and another histogram."""
        other = Problem(
            views,
            histogram,
            self.given_prior,
            row_names=self.row_names,
            label_names=self.label_names,
            constraints=self.constraints,
        )
        vars(other).update(positions=self.positions)  # those of an index may be in any order
        return other

    @property
    def shape(self) -> tuple[int, int]:
        """Number of values and number of labels."""
        return self.views[0].n_values, self.views[0].n_labels

    @cached_property
    def total(self) -> float:
        """Number of records, as the first view has it."""
        return float(self.views[0].joint.sum())

    @cached_property
    def prior(self) -> FloatArray:
        """The given prior, or the uniform table N / (n k)."""
        if self.given_prior is not None:
            return self.given_prior
        prior = np.full(self.shape, self.total / (self.shape[0] * self.shape[1]))
        prior.setflags(write=False)
        return prior

    @cached_property
    def structural_zeros(self) -> npt.NDArray[np.bool_] | None:
        """Cells that the given prior forbids, or None where it forbids none."""
        if self.given_prior is None or self.given_prior.all():
            return None
        zeros: npt.NDArray[np.bool_] = self.given_prior == 0
        return zeros

    @cached_property
    def margins(self) -> tuple[Margin, ...]:
        """Every total that is known exactly, the views first, the histogram last.

        Of a noisy view these are the label totals.
        """
        margins = [
            Margin(f"view {i}", v.groups, v.label_groups, v.joint)
            if v.channel is None
            else _label_totals(v, f"view {i}", self.shape[0])
            for i, v in enumerate(self.views)
        ]
        if self.histogram is not None:
            n, k = self.shape
            rows = np.arange(n, dtype=np.int64)
            columns = np.zeros(k, dtype=np.int64)
            margins.append(Margin("histogram", rows, columns, self.histogram[:, None], "histogram"))
        return tuple(margins)

    @cached_property
    def noisy(self) -> tuple[View, ...]:
        """The views with a channel, whose counts are random."""
        return tuple(view for view in self.views if view.channel is not None)

    @cached_property
    def support(self) -> npt.NDArray[np.bool_]:
        """Cells that are positive in some feasible table, as far as a program of 20 seconds can tell."""
        from aegis_opt.problem._support import support_of

        return support_of(self)

    @cached_property
    def is_integral(self) -> bool:
        """Whether every known total is a whole number."""
        return all(bool(np.all(m.totals == np.round(m.totals))) for m in self.margins)

    def residual(self, table: npt.ArrayLike, *, rounding: float = 0.0) -> float:
        """Largest absolute violation of any constraint by `table`, in records.

        Of extra constraints, `rounding` is a violation that does not count, as a share of the sum of
        abs(coefficient * cell).
        """
        X = float_array("the table", table)
        if X.shape != self.shape:
            raise InvalidInput(f"the table is {X.shape}, the problem {self.shape}")
        if not np.isfinite(X).all():
            return float("inf")
        worst = max(0.0, -float(X.min()))
        for margin in self.margins:
            worst = max(worst, float(np.abs(margin.sums(X) - margin.totals).max()))
        if self.structural_zeros is not None:
            worst = max(worst, float(np.abs(X[self.structural_zeros]).max()))
        for constraint in self.constraints:
            noise = rounding * float(np.abs(constraint.coefficients * X).sum())
            worst = max(worst, constraint.violation(X) - noise)
        return worst

    def labelled(self, table: FloatArray) -> FloatArray | pd.DataFrame:
        """Return `table` with the problem's names (a DataFrame), or as it is where there are none."""
        if self.row_names is None and self.label_names is None:
            return table
        return pd.DataFrame(table, index=self.row_names, columns=self.label_names)

    def __repr__(self) -> str:
        n, k = self.shape
        parts = ["1 view" if len(self.views) == 1 else f"{len(self.views)} views"]
        parts += [f"{len(self.noisy)} of them noisy"] if self.noisy else []
        parts += ["histogram"] if self.histogram is not None else []
        parts += ["prior"] if self.given_prior is not None else []
        parts += [f"{len(self.constraints)} further constraints"] if self.constraints else []
        return f"<Problem {n} x {k}, {self.total:.10g} records: {', '.join(parts)}>"

    def _card(self) -> Card:
        from aegis_opt.problem._card import card_of

        return card_of(self)

    @cached_property
    def refinement(self) -> IntArray:
        """Common refinement of all views: rows with the same number are in the same group of every view.

        A noisy view tells all rows apart.
        """
        if self.noisy:
            return np.arange(self.shape[0], dtype=np.int64)
        code = np.zeros(self.shape[0], dtype=np.int64)
        for view in self.views:
            code = code * len(view.joint) + view.groups
            code = np.unique(code, return_inverse=True)[1].astype(np.int64)
        return code


def _label_totals(view: View, name: str, n_values: int) -> Margin:
    """What a noisy view tells exactly: how often each (masked) label occurs."""
    rows = np.zeros(n_values, dtype=np.int64)
    return Margin(f"{name} (label totals)", rows, view.label_groups, view.joint.sum(axis=0, keepdims=True))


def _with_label_totals(noisy: FloatArray, totals: npt.ArrayLike) -> FloatArray:
    """Scale noisy counts to label totals; counts of a label that had none are spread evenly."""
    now, wanted = noisy.sum(axis=0), float_array("the label totals of a noisy view", totals).reshape(-1)
    if wanted.shape != now.shape:
        raise InvalidInput(f"a noisy view has {len(now)} label totals, not {len(wanted)}")
    scaled = noisy * np.divide(wanted, now, out=np.zeros_like(now), where=now > 0)
    return np.where(now > 0, scaled, wanted / len(noisy))


def _partition(name: str, values: npt.ArrayLike, size: int, what: str) -> IntArray:
    """Check the number of the group that each row or column of a table is in."""
    ids = any_array(name, values)
    if ids.shape != (size,) or not np.issubdtype(ids.dtype, np.integer) or ids.min() < 0:
        raise InvalidInput(f"{name} must be {size} whole numbers from 0 up, one per {what} of the table")
    return ids


def _require_countable(name: str, records: float) -> None:
    """Refuse totals whose sum or whose noise floating-point numbers cannot hold."""
    if 0 < records < FEWEST_RECORDS or records > MOST_RECORDS:
        raise InvalidInput(
            f"{name} has {records:.4g} records in all; a problem takes none, or {FEWEST_RECORDS:g} to 2^53 "
            "of them: give all totals and the prior in another unit, that is, multiply them by one number"
        )


def _names(
    given: Sequence[Any] | pd.Index | None, sources: list[pd.Index | None], size: int, what: str
) -> pd.Index | None:
    """Names of the rows or labels: the ones given, else those of the pandas arguments, which must agree."""
    if given is not None:
        if not isinstance(given, Iterable):
            raise InvalidInput(f"the names of the {what} must be a list, not {type(given).__name__}")
        index = given if isinstance(given, pd.Index) else pd.Index(list(given))
        if len(index) != size:
            raise InvalidInput(f"{len(index)} names for {size} {what}")
        return index
    found = [index for index in sources if index is not None]
    for index in found[1:]:
        if not index.equals(found[0]):
            raise InvalidInput(
                f"the pandas arguments name the {what} differently ({list(found[0])[:5]}, ... and "
                f"{list(index)[:5]}, ...): reindex them alike first"
            )
    return found[0] if found else None
