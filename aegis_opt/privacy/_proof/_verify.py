"""Verification of a certificate: counts for what it says about the table, and an integer program."""

from __future__ import annotations

import hashlib
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import chain
from typing import Any

import numpy as np
import pandas as pd

from aegis_opt._options import number
from aegis_opt._progress import Progress, reporting
from aegis_opt.errors import CertificateError
from aegis_opt.masks import Grouping
from aegis_opt.privacy._base import PrivacyRule
from aegis_opt.privacy._lattice._certificate import Certificate
from aegis_opt.privacy._proof._document import StatedClause, Statement, read_statement
from aegis_opt.privacy._proof._program import least_cost
from aegis_opt.privacy._proof._table import CertifiedTable, IntArray, open_table
from aegis_opt.privacy._written import rule_text, written_label

Part = tuple[int, ...]
"""Candidates of an attribute whose join is meant."""

TIME_LIMIT = 300.0
"""The seconds that a verification may take if none are given: certificates come from strangers."""
_MOST_WAYS = 2**22  # that satisfy clauses, all together: the integer program then takes 1.2 GB
_MOST_JOINED = 2**23  # groups of joins that are kept: 64 MB
_MOST_LINKED = 2**20  # values times candidates that are linked at once: 40 bytes each
_MOST_DIGITS = 12
_NONE = np.empty(0, dtype=np.int64)
_EXACT = 2.0**52  # the sum of the largest losses stays below, in units
_NOISE = 1e-6  # relative, of that sum: where it is so close to the bound, both numbers of digits are right
_LAST_DIGITS = 2.0**-45  # relative, of a measure: two losses are differences of values of this size
_ROUNDED = 1  # units between a cost and the rounded loss: logarithms round differently on other machines


@dataclass(frozen=True)
class Verification:
    """What was verified; a certificate that is no proof raises `CertificateError` instead.

    Attributes
    ----------
    records : int
        Records of the table.
    rules : tuple of str
        The rules, as commands write them.
    measure : str
        The measure.
    cost : float
        The mean loss of the measure over the attributes.
    within : float
        By how much another configuration of the candidates, one that satisfies the rules, may undercut it at
        most: costs are whole numbers of a unit.
    suppressed : int
        Records in classes of the winner that violate a rule.
    clauses, rejected : int
        How many combinations and single configurations were confirmed to violate the rules.
    seconds : float
        Time that it took.
    """

    records: int
    rules: tuple[str, ...]
    measure: str
    cost: float
    within: float
    suppressed: int
    clauses: int
    rejected: int
    seconds: float

    def __str__(self) -> str:
        return (
            f"verified: {self.records:,} records, {' and '.join(self.rules)}, cost {self.cost:.6g} of "
            f"{self.measure} (the least to within {self.within:.1g}), {self.suppressed:,} suppressed, "
            f"{self.clauses:,} clauses, {self.seconds:.2f} s"
        )


def verify_certificate(
    certificate: object,
    source: object,
    progress: Progress | bool | None = None,
    *,
    time_limit: float | None = TIME_LIMIT,
) -> Verification:
    """Verify a certificate against the table, without any code of the search.

    1. Every cost is computed again from the table, and compared as a whole number of units. The unit follows
       from the table: the smallest power of ten, down to 10^-12, in which sums of costs are below 2^52.
    2. The winner satisfies the rules: one count of its classes.
    3. Every clause violates a rule that is monotone: one filtered count of its witness where nothing may be
       suppressed, else one count of its classes. So does every rejected configuration.
    4. No choice of candidates that satisfies all clauses, and is not rejected, costs less than the winner: an
       integer program, solved exactly by CP-SAT.

    Shared with the search are the reading of sources and the definitions of masks, measures and rules.

    Parameters
    ----------
    certificate : path or Certificate
        The proof.
    source : path, DataFrame, Arrow table, DuckDB relation or Spark DataFrame
        The table that was searched.
    progress : bool or callable, optional
        True shows how far the work is; a function is called with (what, done, of how many).
    time_limit : float, optional
        Seconds after which the verification is given up, once the table is read; None for no limit.

    Returns
    -------
    Verification

    Raises
    ------
    CertificateError
        If the file is no certificate, its digest does not match, it proves nothing about this table, or that
        was not decided within the time limit.

    Examples
    --------
    >>> import aegis_opt as ao
    >>> clinic = ao.datasets.clinic(500)
    >>> ages = [ao.Identity(), ao.Bucketize(width=25), ao.Suppress()]
    >>> found = ao.search(clinic.frame, "health", {"age": ages}, ao.privacy.KAnonymity(10))
    >>> ao.privacy.verify_certificate(found.certificate, clinic.frame).suppressed
    0
    """
    started = time.perf_counter()
    if time_limit is not None:
        time_limit = number("time_limit", time_limit, above=0, unit="seconds")
    if isinstance(certificate, Certificate):
        certificate = {**certificate.document, "digest": certificate.digest}
    stated = read_statement(certificate)
    # As the rules have it: the share is the decimal number that was written
    if stated.limit != math.floor(Decimal(repr(float(stated.suppression))) * stated.records):
        raise _no_proof(f"its limit of {stated.limit:,} records is not its share of them")
    if sum(own.costs[c] for own, c in zip(stated.attributes, stated.winner, strict=True)) != stated.cost:
        raise _no_proof("its cost is not the sum of the costs of its winner")
    with reporting(progress, "verifying") as report:
        try:
            table = open_table(source, stated)
            return _verified(stated, table, report, time_limit, started)
        except MemoryError:
            raise CertificateError(
                "verifying the certificate takes more memory than this process may use: allow it more"
            ) from None


def _verified(
    stated: Statement,
    table: CertifiedTable,
    report: Progress | None,
    time_limit: float | None,
    started: float,
) -> Verification:
    end = math.inf if time_limit is None else time.monotonic() + time_limit

    def look(what: str, done: int, of: int) -> None:
        if time.monotonic() > end:
            raise TimeoutError
        if report is not None:
            report(what, done, of)

    try:
        return _Verifier(stated, table, look, end).verify(started)
    except TimeoutError:
        raise CertificateError(
            f"whether the certificate is a proof was not decided within {time_limit:g} s: allow it more time "
            "(time_limit; --time-limit on the command line)"
        ) from None


class _Verifier:
    """The table, and what was found out about its candidates."""

    def __init__(
        self, stated: Statement, table: CertifiedTable, report: Callable[[str, int, int], None], end: float
    ) -> None:
        self.stated, self.table, self.report, self.end = stated, table, report, end
        self.whole = table.whole()
        self.order = None if stated.order is None else np.array(stated.order, dtype=np.int64)
        if self.order is not None and sorted(stated.order or ()) != list(range(table.n_sensitive)):
            raise _no_proof("its order does not list every sensitive value once")
        suppresses = stated.limit > 0
        self.monotone = [
            rule for rule in stated.rules if (rule.monotone_with_suppression if suppresses else rule.monotone)
        ]
        self.rounding = 0.0  # of the measure itself, all attributes together
        self._joins: dict[tuple[int, Part], IntArray] = {}
        self._n_joined = 0  # groups in all of them
        self._ways: dict[tuple[int, bytes], IntArray] = {}
        self._distinct: dict[int, tuple[IntArray, IntArray]] = {}

    def verify(self, started: float) -> Verification:
        """Go through all that the certificate states."""
        stated, quasi = self.stated, self.stated.quasi
        self._check_costs()
        winner = [(i, (stated.winner[i],)) for i in quasi]
        suppressed = self._violating_records(stated.rules, winner)
        if suppressed > stated.limit:
            raise _no_proof(
                f"its winner violates the rules: {suppressed:,} records would have to be suppressed, and "
                f"{stated.limit:,} may be"
            )
        clauses, n_ways, steps = [], 0, len(stated.clauses) + len(stated.rejected)
        for place, clause in enumerate(stated.clauses):
            self.report(f"clause {place + 1}", place, steps)
            self._check_clause(place, clause)
            ways = self._all_ways(clause)
            n_ways += sum(map(len, ways))
            if n_ways > _MOST_WAYS:
                raise CertificateError(
                    f"the clauses of the certificate list more than {_MOST_WAYS:,} candidates that satisfy "
                    "them, and there is no room for more: have it made for fewer candidates"
                )
            clauses.append(ways)
        rejected: list[list[int | None]] = []
        for place, point in enumerate(stated.rejected):
            self.report(f"rejected configuration {place + 1}", len(stated.clauses) + place, steps)
            choice = dict(zip(quasi, point, strict=True))
            if self._violating_records(stated.rules, [(i, (c,)) for i, c in choice.items()]) <= stated.limit:
                raise _no_proof(f"its rejected configuration {place} satisfies the rules")
            rejected.append([choice.get(i) for i in range(len(stated.attributes))])
        self.report("solving the integer program", steps, steps)
        least = least_cost([own.costs for own in stated.attributes], clauses, rejected, self.end)
        if least is None or least < stated.cost:
            raise _no_proof(
                "its clauses do not rule out a cheaper configuration"
                + ("" if least is None else f" of {least:,} units, where the winner costs {stated.cost:,}")
            )
        return Verification(
            records=stated.records,
            rules=tuple(map(rule_text, stated.rules)),
            measure=stated.measure.name,
            cost=stated.cost / 10.0**stated.digits / len(stated.attributes),
            # A cost is half a unit from its loss by rounding, and _ROUNDED more; so is that of the other one
            within=(1 + 2 * _ROUNDED) / 10.0**stated.digits + self.rounding / len(stated.attributes),
            suppressed=suppressed,
            clauses=len(stated.clauses),
            rejected=len(stated.rejected),
            seconds=time.perf_counter() - started,
        )

    def _check_costs(self) -> None:
        """Compute all losses from counts of the table, and from them the unit and the costs."""
        stated = self.stated
        losses = [self._losses(i) for i in range(len(stated.attributes))]
        largest = sum(max(map(abs, own)) for own in losses)
        if not all(map(math.isfinite, chain(*losses))):
            raise _no_proof(f"the measure {stated.measure.name!r} is not finite for a candidate")
        if stated.digits not in (_digits(largest * (1 - _NOISE)), _digits(largest * (1 + _NOISE))):
            raise _no_proof(
                f"its costs have {stated.digits} digits, and the losses of this table need {_digits(largest)}"
            )
        for own, mine in zip(stated.attributes, losses, strict=True):
            for j, (cost, loss) in enumerate(zip(own.costs, mine, strict=True)):
                if abs(round(loss * 10.0**stated.digits) - cost) > _ROUNDED:
                    raise _no_proof(
                        f"the cost of candidate {j} of attribute {own.name!r} is not that of the table"
                    )

    def _losses(self, i: int) -> list[float]:
        """Return what each candidate of an attribute loses of the measure."""
        self.report(f"costs of {self.stated.attributes[i].name}", i, len(self.stated.attributes))
        measure, unmasked = self.stated.measure, self.table.joint(i)
        sign = 1 if measure.higher_is_better else -1
        whole, losses = float(measure(unmasked)), []
        self.rounding += _LAST_DIGITS * abs(whole)
        for grouping in self.table.groupings[i]:
            masked = np.zeros((grouping.n_groups, unmasked.shape[1]), dtype=np.int64)
            np.add.at(masked, grouping.groups, unmasked)
            losses.append(sign * (whole - float(measure(masked))))
        return losses

    def _violating_records(self, rules: Sequence[PrivacyRule], point: Sequence[tuple[int, Part]]) -> int:
        """Count the records in classes that violate a rule."""
        found = 0
        for table in self.table.classes([(i, self._groups(i, part)) for i, part in point]):
            found += int(table[self._violates(rules, table)].sum())
        return found

    def _violates(self, rules: Sequence[PrivacyRule], table: IntArray) -> Any:
        violating = np.zeros(len(table), dtype=bool)
        for rule in rules:
            if rule.needs_sensitive:
                violating |= rule.violations(table, whole=self.whole, order=self.order)
            else:
                violating |= rule.violations(table.sum(axis=1))
        return violating

    def _check_clause(self, number: int, clause: StatedClause) -> None:
        """Confirm that a combination violates a monotone rule."""
        parts = list(zip(self.stated.quasi, clause.point, strict=True))
        if clause.witness is None:
            if self._violating_records(self.monotone, parts) <= self.stated.limit:
                raise _no_proof(
                    f"its clause {number} satisfies the rules, or only rules that are not monotone fail"
                )
            return
        box = []
        for (i, part), label in zip(parts, clause.witness, strict=True):
            labels = map(written_label, self.table.groupings[i][part[0]].labels)
            groups = [g for g, known in enumerate(labels) if type(known) is type(label) and known == label]
            if not groups:
                raise _no_proof(f"its clause {number} has a witness that does not occur")
            box.append((i, self._groups(i, part), int(self._goes(i, part)[groups[0]])))
        counts = self.table.box(box)[None, :]
        if not counts.any() or not self._violates(self.monotone, counts)[0]:
            raise _no_proof(f"the witness of its clause {number} violates no rule")

    def _all_ways(self, clause: StatedClause) -> list[IntArray]:
        """Return the candidates of every attribute that satisfy a clause."""
        ways = [_NONE] * len(self.stated.attributes)
        for i, part in zip(self.stated.quasi, clause.point, strict=True):
            ways[i] = self._coarser(i, part)
        return ways

    def _coarser(self, i: int, part: Part) -> IntArray:
        """Return the candidates that do not refine a join: some group of theirs meets two of its groups."""
        joined = pd.factorize(self._groups(i, part))[0].astype(np.int64)
        same = (i, hashlib.sha256(joined.tobytes()).digest())
        if same not in self._ways:
            partitions, of = self._partitions(i)
            # one[p, g]: a group of the join that group g of partition p meets
            one = np.zeros_like(partitions)
            np.put_along_axis(one, partitions, np.broadcast_to(joined, partitions.shape), axis=1)
            coarser = (np.take_along_axis(one, partitions, axis=1) != joined).any(axis=1)
            self._ways[same] = np.flatnonzero(coarser[of])
        return self._ways[same]

    def _partitions(self, i: int) -> tuple[IntArray, IntArray]:
        """Return the distinct partitions of an attribute, and for each candidate which it is."""
        if i not in self._distinct:
            places: dict[bytes, int] = {}
            groups = [own.groups for own in self.table.groupings[i]]
            of = [places.setdefault(own.tobytes(), len(places)) for own in groups]
            first = np.unique(of, return_index=True)[1]
            self._distinct[i] = np.stack([groups[j] for j in first]), np.array(of)
        return self._distinct[i]

    def _groups(self, i: int, part: Part) -> IntArray:
        """Return the group of each value of an attribute under a join."""
        return self._goes(i, part)[self.table.groupings[i][part[0]].groups]

    def _goes(self, i: int, part: Part) -> IntArray:
        """Return for each group of the first candidate of a join the number of its group in the join."""
        if (i, part) not in self._joins:
            first, *others = (self.table.groupings[i][c] for c in part)
            if self._n_joined > _MOST_JOINED:
                self._joins.clear()
                self._n_joined = 0
            self._joins[i, part] = _joined(first, others)
            self._n_joined += first.n_groups
        return self._joins[i, part]


def _joined(first: Grouping, others: Sequence[Grouping]) -> IntArray:
    """Link the groups of a candidate that share a group of another one; number what is linked."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    goes = np.arange(first.n_groups)
    together = max(_MOST_LINKED // max(len(first.groups), 1), 1)
    for begin in range(0, len(others), together):
        some = others[begin : begin + together]
        starts = np.cumsum([first.n_groups, *(other.n_groups for other in some)])
        ends = np.concatenate([start + other.groups for start, other in zip(starts[:-1], some, strict=True)])
        edges = (np.ones(len(ends), dtype=bool), (np.tile(goes[first.groups], len(some)), ends))
        linked = coo_array(edges, shape=(starts[-1], starts[-1]))
        numbers = connected_components(linked, directed=False)[1]
        goes = np.unique(numbers[goes], return_inverse=True)[1]
    return goes


def _digits(largest: float) -> int:
    """Return how many decimals costs have, given the sum over the attributes of the largest losses."""
    digits = _MOST_DIGITS
    while largest * 10.0**digits >= _EXACT:
        digits -= 1
    return digits


def _no_proof(reason: str) -> CertificateError:
    return CertificateError(f"the certificate is no proof: {reason}")
