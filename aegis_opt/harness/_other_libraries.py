"""Peers: other libraries that fit tables to margins, behind the interface of the solvers.

They see the same problems and are certified by the same code. Each fits two margins of one table, so
it gets one block per masked value (rows: the values of the group, columns: the labels), without the rows and
columns whose total is 0, which some of them divide by. They start from ones: a given prior, several views or
a masked label are refused. None of them is a dependency; one that is not installed is skipped, visibly.
"""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from typing import Any, ClassVar

import numpy as np

from aegis_opt.errors import InvalidOption, MissingDependency
from aegis_opt.problem._margin import FloatArray, IntArray
from aegis_opt.problem._problem import Problem
from aegis_opt.solvers.base import Capabilities, Reconstructor, Solution

_ONE_VIEW = {"several_views": False, "masked_label": False}


@dataclass(frozen=True, eq=False)
class Block:
    """One masked value: which cells it covers, and their totals (none for the rows without histogram)."""

    rows: IntArray
    columns: IntArray
    row_totals: FloatArray | None
    column_totals: FloatArray


def blocks(problem: Problem) -> Iterator[Block]:
    """Split a problem of one view into its blocks, leaving out what is empty."""
    view = problem.views[0]
    for group, totals in enumerate(view.joint):
        rows = np.flatnonzero(view.groups == group)
        columns = np.flatnonzero(totals)
        row_totals = None
        if problem.histogram is not None:
            rows = rows[problem.histogram[rows] > 0]
            row_totals = problem.histogram[rows]
        if len(rows) and len(columns):
            yield Block(rows, columns, row_totals, totals[columns])


@dataclass(frozen=True, kw_only=True)
class Peer(Reconstructor):
    """A library that fits one block at a time."""

    module: ClassVar[str]
    package: ClassVar[str]
    capabilities: ClassVar[Capabilities] = Capabilities(norms=("kl",), **_ONE_VIEW)

    @property
    def distance_norm(self) -> str:
        """All of them fit by scaling, whose limit minimises the Kullback-Leibler divergence."""
        return "kl"

    @abstractmethod
    def fit(self, library: Any, block: Block) -> FloatArray:
        """Fill one block."""

    def solve(self, problem: Problem) -> Solution:
        if problem.given_prior is not None:
            raise InvalidOption(f"peer {self.name!r} takes no prior: use solver='ipf'")
        table = np.zeros(problem.shape)
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")  # the residual says whether it worked, not the library
            library = self._library()
            for block in blocks(problem):
                table[np.ix_(block.rows, block.columns)] = self.fit(library, block)
        return Solution(table, method=self.name)

    def _library(self) -> Any:
        try:
            return import_module(self.module)
        except ImportError as error:
            raise MissingDependency(
                f"peer {self.name!r} needs the package {self.package}: pip install 'aegis-opt[bench]'"
            ) from error


@dataclass(frozen=True, kw_only=True)
class Ipfn(Peer):
    """`ipfn`: iterative proportional fitting in pure Python."""

    name: ClassVar[str] = "ipfn"
    module: ClassVar[str] = "ipfn.ipfn"
    package: ClassVar[str] = "ipfn"

    def fit(self, library: Any, block: Block) -> FloatArray:
        totals, axes = [block.column_totals.copy()], [[1]]
        if block.row_totals is not None:
            totals, axes = [block.row_totals.copy(), *totals], [[0], *axes]
        ones = np.ones((len(block.rows), len(block.columns)))
        return np.asarray(library.ipfn(ones, totals, axes).iteration())


@dataclass(frozen=True, kw_only=True)
class HumanLeague(Peer):
    """`humanleague`: iterative proportional fitting in C++.

    It wants every margin, so without histogram the values of a block share its records equally.
    """

    name: ClassVar[str] = "humanleague"
    module: ClassVar[str] = "humanleague"
    package: ClassVar[str] = "humanleague"

    def fit(self, library: Any, block: Block) -> FloatArray:
        shape = (len(block.rows), len(block.columns))
        rows = block.row_totals
        if rows is None:
            rows = np.full(shape[0], block.column_totals.sum() / shape[0])
        axes = [np.array([0]), np.array([1])]
        fitted, _ = library.ipf(np.ones(shape), axes, [rows, block.column_totals])
        return np.asarray(fitted)


@dataclass(frozen=True, kw_only=True)
class HumanLeagueInteger(HumanLeague):
    """`humanleague`'s fit made whole by its `integerise`, which keeps the totals where it can."""

    name: ClassVar[str] = "humanleague-integerise"
    capabilities: ClassVar[Capabilities] = Capabilities(
        norms=(), integer=True, keeps_totals=False, **_ONE_VIEW
    )

    def fit(self, library: Any, block: Block) -> FloatArray:
        if block.row_totals is None:
            raise InvalidOption("peer 'humanleague-integerise' needs whole row totals: share the histogram")
        whole, _ = library.integerise(super().fit(library, block))
        return np.asarray(whole, dtype=np.float64)


@dataclass(frozen=True, kw_only=True)
class Sinkhorn(Peer):
    """POT's Sinkhorn: entropic transport between the values and the labels of a block, at no cost.

    With cost 0 the entropy alone decides, whatever its weight, and the plan is the independent coupling.
    Without histogram the values of a block share its records equally.
    """

    name: ClassVar[str] = "sinkhorn"
    module: ClassVar[str] = "ot"
    package: ClassVar[str] = "POT"

    def fit(self, library: Any, block: Block) -> FloatArray:
        rows = np.ones(len(block.rows)) if block.row_totals is None else block.row_totals
        records = block.column_totals.sum()
        cost = np.zeros((len(block.rows), len(block.columns)))
        plan = library.sinkhorn(rows / rows.sum(), block.column_totals / records, cost, reg=1.0)
        return np.asarray(plan * records)


PEERS: dict[str, type[Peer]] = {kind.name: kind for kind in (Ipfn, HumanLeague, HumanLeagueInteger, Sinkhorn)}
"""By name; the library of a peer is imported when it first solves."""
