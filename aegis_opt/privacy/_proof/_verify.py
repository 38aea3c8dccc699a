"""Verification of a certificate: plain SQL for what it says about the table, and an integer program."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np

from aegis_opt._progress import Progress, reporting
from aegis_opt.errors import CertificateError
from aegis_opt.privacy._base import PrivacyRule
from aegis_opt.privacy._lattice._certificate import Certificate
from aegis_opt.privacy._proof._document import StatedClause, Statement, read_statement
from aegis_opt.privacy._proof._program import least_cost
from aegis_opt.privacy._proof._table import CertifiedTable, IntArray, open_table

Part = tuple[int, ...]
"""Candidates of an attribute whose join is meant."""


@dataclass(frozen=True)
class Verification:
    """What was verified; a certificate that is no proof raises `CertificateError` instead.

    Attributes
    ----------
    records : int
        Records of the table.
    cost : float
        The mean loss of the measure over the attributes, which no other configuration undercuts.
    suppressed : int
        Records in classes of the winner that violate a rule.
    clauses, rejected : int
        How many combinations and single configurations were confirmed to violate the rules.
    seconds : float
        Time that it took.
    """

    records: int
    cost: float
    suppressed: int
    clauses: int
    rejected: int
    seconds: float

    def __str__(self) -> str:
        return (
            f"verified: {self.records:,} records, cost {self.cost:.6g}, {self.suppressed:,} suppressed, "
            f"{self.clauses:,} clauses, {self.seconds:.2f} s"
        )


def verify_certificate(
    certificate: object, source: object, progress: Progress | bool | None = None
) -> Verification:
    """Verify a certificate against the table, without any code of the search.

    1. Every cost is computed again from the table, and compared as a whole number of units.
    2. The winner satisfies the rules: one GROUP BY.
    3. Every clause violates a rule that is monotone: one filtered count of its witness where nothing may be
       suppressed, else one GROUP BY. So does every rejected configuration.
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

    Returns
    -------
    Verification

    Raises
    ------
    CertificateError
        If the file is no certificate, its digest does not match, or it proves nothing about this table.

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
    if isinstance(certificate, Certificate):
        certificate = {**certificate.document, "digest": certificate.digest}
    stated = read_statement(certificate)
    # As the rules have it: the share is the decimal number that was written
    if stated.limit != math.floor(Decimal(repr(float(stated.suppression))) * stated.records):
        raise _no_proof(f"its limit of {stated.limit:,} records is not its share of them")
    if sum(own.costs[c] for own, c in zip(stated.attributes, stated.winner, strict=True)) != stated.cost:
        raise _no_proof("its cost is not the sum of the costs of its winner")
    with reporting(progress, "verifying") as report, open_table(source, stated) as table:
        return _Verifier(stated, table, report or (lambda *_: None)).verify(started)


class _Verifier:
    """The table, and what was found out about its candidates."""

    def __init__(
        self, stated: Statement, table: CertifiedTable, report: Callable[[str, int, int], None]
    ) -> None:
        self.stated, self.table, self.report = stated, table, report
        self.whole = table.whole()
        self.order = None if stated.order is None else np.array(stated.order, dtype=np.int64)
        if self.order is not None and sorted(stated.order or ()) != list(range(table.n_sensitive)):
            raise _no_proof("its order does not list every sensitive value once")
        suppresses = stated.limit > 0
        self.monotone = [
            rule for rule in stated.rules if (rule.monotone_with_suppression if suppresses else rule.monotone)
        ]
        self._keys: dict[tuple[int, Part], str] = {}
        self._goes: dict[tuple[int, Part], dict[int, int]] = {}  # group of the first -> group of the join
        self._ways: dict[tuple[int, Part], list[int]] = {}

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
        clauses = []
        for number, clause in enumerate(stated.clauses):
            self.report(f"clause {number + 1}", number, len(stated.clauses))
            self._check_clause(number, clause)
            clauses.append(self._all_ways(clause))
        for number, point in enumerate(stated.rejected):
            violating = self._violating_records(
                stated.rules, [(i, (c,)) for i, c in zip(quasi, point, strict=True)]
            )
            if violating <= stated.limit:
                raise _no_proof(f"its rejected configuration {number} satisfies the rules")
            clauses.append(self._others(point))
        self.report("solving the integer program", len(stated.clauses), len(stated.clauses))
        least = least_cost([own.costs for own in stated.attributes], clauses)
        if least is None or least < stated.cost:
            raise _no_proof(
                "its clauses do not rule out a cheaper configuration"
                + ("" if least is None else f" of {least:,} units, where the winner costs {stated.cost:,}")
            )
        return Verification(
            records=stated.records,
            cost=stated.cost / 10.0**stated.digits / len(stated.attributes),
            suppressed=suppressed,
            clauses=len(stated.clauses),
            rejected=len(stated.rejected),
            seconds=time.perf_counter() - started,
        )

    def _check_costs(self) -> None:
        """Compute all costs from counts of the table; a unit of difference may come from rounding."""
        stated, measure = self.stated, self.stated.measure
        sign = 1 if measure.higher_is_better else -1
        for i, own in enumerate(stated.attributes):
            self.report(f"costs of {own.name}", i, len(stated.attributes))
            unmasked = float(measure(self._joint(f"r{i}")))
            for j, cost in enumerate(own.costs):
                loss = sign * (unmasked - float(measure(self._joint(f"a{i}_{j}"))))
                if not math.isfinite(loss) or abs(round(loss * 10.0**stated.digits) - cost) > 1:
                    raise _no_proof(
                        f"the cost of candidate {j} of attribute {own.name!r} is not that of the table"
                    )

    def _joint(self, key: str) -> IntArray:
        """Count the records per value of a column and label."""
        found = self.table.columns(f"SELECT {key} AS g, y, sum(n) AS m FROM t GROUP BY g, y")
        joint = np.zeros((int(found["g"].max()) + 1, self._n_labels()), dtype=np.int64)
        joint[found["g"], found["y"]] = found["m"]
        return joint

    def _n_labels(self) -> int:
        return int(self.table.rows("SELECT max(y) + 1 FROM t")[0][0])

    def _violating_records(self, rules: Sequence[PrivacyRule], point: Sequence[tuple[int, Part]]) -> int:
        """Count the records in classes that violate a rule."""
        found = 0
        for table in self.table.classes([self._key(i, part) for i, part in point]):
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
        conditions = []
        for (i, part), label in zip(parts, clause.witness, strict=True):
            labels = self.table.groupings[i][part[0]].labels
            groups = [g for g, known in enumerate(labels) if type(known) is type(label) and known == label]
            if not groups:
                raise _no_proof(f"its clause {number} has a witness that does not occur")
            of = self._key(i, part)
            value = groups[0] if len(part) == 1 else self._goes[i, part].get(groups[0], -1)
            conditions.append(f"{of} = {value}")
        counts = self.table.box(conditions)[None, :]
        if not counts.any() or not self._violates(self.monotone, counts)[0]:
            raise _no_proof(f"the witness of its clause {number} violates no rule")

    def _all_ways(self, clause: StatedClause) -> list[list[int]]:
        """Return the candidates of every attribute that satisfy a clause."""
        ways: list[list[int]] = [[] for _ in self.stated.attributes]
        for i, part in zip(self.stated.quasi, clause.point, strict=True):
            ways[i] = self._coarser(i, part)
        return ways

    def _others(self, point: Sequence[int]) -> list[list[int]]:
        """Return the candidates by which a configuration differs from a rejected one."""
        ways: list[list[int]] = [[] for _ in self.stated.attributes]
        for i, c in zip(self.stated.quasi, point, strict=True):
            ways[i] = [a for a in range(len(self.stated.attributes[i].masks)) if a != c]
        return ways

    def _coarser(self, i: int, part: Part) -> list[int]:
        """Return the candidates that do not refine a join: some group of theirs meets two of its groups."""
        if (i, part) not in self._ways:
            key, n = self._key(i, part), len(self.stated.attributes[i].masks)
            counts = ", ".join(
                f"count(DISTINCT a{i}_{a}), count(DISTINCT (a{i}_{a}, {key}))" for a in range(n)
            )
            found = self.table.rows(f"SELECT {counts} FROM t")[0]
            self._ways[i, part] = [a for a in range(n) if found[2 * a] != found[2 * a + 1]]
        return self._ways[i, part]

    def _key(self, i: int, part: Part) -> str:
        """Return the SQL of the group of a join: the candidate itself, or a list of where its groups go."""
        if len(part) == 1:
            return f"a{i}_{part[0]}"
        if (i, part) not in self._keys:
            first = part[0]
            goes = {g: g for (g,) in self.table.rows(f"SELECT DISTINCT a{i}_{first} FROM t")}
            for other in part[1:]:
                linked: dict[int, int] = {}
                for a, b in self.table.rows(
                    f"SELECT DISTINCT a{i}_{first}, a{i}_{other} FROM t ORDER BY ALL"
                ):
                    old, new = goes[a], goes[linked.setdefault(b, a)]
                    goes = {g: new if to == old else to for g, to in goes.items()}
            listed = ", ".join(str(goes.get(g, g)) for g in range(max(goes) + 1))
            self._goes[i, part] = goes
            self._keys[i, part] = f"([{listed}])[a{i}_{first} + 1]"
        return self._keys[i, part]


def _no_proof(reason: str) -> CertificateError:
    return CertificateError(f"the certificate is no proof: {reason}")
