"""Whether configurations satisfy privacy rules: one row per configuration."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from aegis_opt._options import instance, list_of, number
from aegis_opt._progress import Progress, reporting
from aegis_opt._shown import shown
from aegis_opt.errors import InvalidOption, UnknownColumn
from aegis_opt.masks import Configuration, Configurations, Mask, fit_configuration
from aegis_opt.masks._configuration import as_configurations
from aegis_opt.masks._order import Rule, normal_orders
from aegis_opt.privacy._base import PrivacyRule, as_rules
from aegis_opt.privacy._figures import TableFigures, figures_of
from aegis_opt.privacy._rules import KAnonymity
from aegis_opt.privacy._sources import open_classes
from aegis_opt.sources import open_engine


@dataclass(frozen=True, eq=False)
class PrivacyQuestion:
    """Rules, and what they are about, checked before anything is read."""

    rules: tuple[PrivacyRule, ...]
    suppression: float
    quasi_identifiers: tuple[str, ...]
    sensitive: str | None  # None where no rule needs it
    orders: Mapping[str, Rule]

    @classmethod
    def of(
        cls,
        rules: PrivacyRule | Iterable[PrivacyRule],
        configurations: Configurations,
        *,
        label: str | None = None,
        quasi_identifiers: Iterable[str] | None = None,
        sensitive: str | None = None,
        suppression: float = 0.0,
        order: Mapping[str, str | Iterable[Any]] | None = None,
    ) -> PrivacyQuestion:
        """Fill in what is not said: quasi-identifiers are the masked attributes, the label is sensitive."""
        asked = as_rules(rules)
        share = number("suppression", suppression, least=0, most=1)
        label = configurations.label if label is None else instance("label", label, str, "give its name")
        if sensitive is None:
            sensitive = label
        if sensitive is not None:
            instance("sensitive", sensitive, str, "give the name of a column")
        needing = [rule for rule in asked if rule.needs_sensitive]
        if needing and sensitive is None:
            raise InvalidOption(
                f"{needing[0].name} needs a sensitive attribute, and neither sensitive= nor a label names "
                "one: pass sensitive='...'"
            )
        named = _quasi_identifiers(configurations, quasi_identifiers, (label, sensitive))
        return cls(asked, share, named, sensitive if needing else None, normal_orders(order))

    def answers(
        self, source: Any, configurations: Configurations, progress: Progress | None = None
    ) -> Iterator[tuple[str, TableFigures]]:
        """Count the classes of each configuration, and compare them with the rules."""
        engine = open_engine(source)
        known = engine.names()
        for name in (*self.quasi_identifiers, *([self.sensitive] if self.sensitive else [])):
            if name not in known:
                raise UnknownColumn("column", name, known, "It is asked for by the privacy rules.")
        configurations = fit_configuration(source, configurations)
        ordered = any(rule.needs_order for rule in self.rules)
        with open_classes(
            source, configurations, self.quasi_identifiers, self.sensitive, self.orders, progress
        ) as classes:
            for done, (name, masks) in enumerate(configurations.items()):
                if progress is not None:
                    progress(f"checking {name}", done, len(configurations))
                with classes.counted(masks, ordered) as counted:
                    figures = figures_of(counted, self.rules, self.suppression)
                self._check_k(figures.records)
                yield name, figures

    def _check_k(self, n_records: int) -> None:
        for rule in self.rules:
            if isinstance(rule, KAnonymity) and rule.k > n_records:
                raise InvalidOption(
                    f"k = {rule.k:,} is more than the {n_records:,} records: no masking can satisfy it; "
                    "choose a smaller k"
                )


def check_privacy(
    source: Any,
    configurations: Configurations
    | Configuration
    | Mapping[str, Mapping[str, Mask]]
    | str
    | os.PathLike[str],
    rules: PrivacyRule | Iterable[PrivacyRule],
    *,
    label: str | None = None,
    quasi_identifiers: Iterable[str] | None = None,
    sensitive: str | None = None,
    suppression: float = 0.0,
    order: Mapping[str, str | Iterable[Any]] | None = None,
    progress: Progress | bool | None = None,
) -> pd.DataFrame:
    """Check which configurations satisfy privacy rules.

    The records whose masked quasi-identifiers are all equal form a class. Missing values are values. Nothing
    masked is written anywhere: records in memory are counted by the groups that the masks cut the domains
    into, and those of a Spark DataFrame on its cluster, by one query for each configuration.

    Parameters
    ----------
    source : path, DataFrame, Arrow table or DuckDB relation
        See `aegis_opt.sources.scan`.
    configurations : Configurations, Configuration, mapping or path
        The masking configurations, or one of them.
    rules : PrivacyRule or sequence of PrivacyRule
        Such as ``KAnonymity(5)``; of each kind one.
    label : str, optional
        The class label, which is no quasi-identifier by default; else the one that the configurations name.
    quasi_identifiers : sequence of str, optional
        The columns that an attacker may know; by default all that some configuration masks, but not the label
        and not the sensitive attribute. A column that a configuration does not mask is released as it is.
    sensitive : str, optional
        The column that nobody may learn; by default the label. It counts as it is released.
    suppression : float, default 0
        The share of records that may be suppressed, because their classes violate a rule.
    order : mapping of str to list or str, optional
        The order of the sensitive attribute, as in `aegis_opt.summarize`.
    progress : bool or callable, optional
        True shows how far the work is; a function is called with (what, done, of how many).

    Returns
    -------
    DataFrame
        One row for each configuration: ``configuration``; ``private``, whether it satisfies all rules when
        the records of violating classes are suppressed, as far as allowed; ``records``, ``classes``,
        ``smallest_class``; ``suppressed``, the records in violating classes; ``prosecutor_risk``,
        ``marketer_risk`` and ``unique_records`` (see `risks`), without suppression. For each rule, such as
        k-anonymity: ``k_anonymity``, the level of the table after suppression, or of the whole table where
        too many records would be suppressed; ``k_anonymity_holds``; and ``k_anonymity_witness``, the
        masked quasi-identifiers of the smallest class that violates the rule and how many records it has,
        or None. Of several classes that are equally small, it is any.

    Raises
    ------
    InvalidOption
        If k is more than the number of records, there is no quasi-identifier, or a rule needs a sensitive
        attribute and there is none.

    Examples
    --------
    >>> import aegis_opt as ao
    >>> people = pd.DataFrame({"age": [17, 18, 42, 43, 44]})
    >>> masks = {"narrow": {"age": ao.Bucketize(width=10)}, "wide": {"age": ao.Bucketize(width=50)}}
    >>> found = check_privacy(people, masks, ao.privacy.KAnonymity(3))
    >>> found[["configuration", "private", "k_anonymity", "k_anonymity_witness"]]
      configuration  private  k_anonymity       k_anonymity_witness
    0        narrow    False          2.0  ({'age': '[10, 20)'}, 2)
    1          wide     True          5.0                      None
    """
    given = as_configurations(
        {configurations.name or "configuration": configurations}
        if isinstance(configurations, Configuration)
        else configurations
    )
    question = PrivacyQuestion.of(
        rules,
        given,
        label=label,
        quasi_identifiers=quasi_identifiers,
        sensitive=sensitive,
        suppression=suppression,
        order=order,
    )
    with reporting(progress, "reading") as report:
        rows = [
            {"configuration": name, **_row(figures, question.rules)}
            for name, figures in question.answers(source, given, report)
        ]
    return pd.DataFrame(rows)


def _row(figures: TableFigures, rules: Sequence[PrivacyRule]) -> dict[str, Any]:
    row: dict[str, Any] = {
        "private": figures.holds,
        "records": figures.records,
        "classes": figures.classes,
        "smallest_class": figures.smallest,
        "suppressed": figures.suppressed,
        "prosecutor_risk": figures.risks.prosecutor,
        "marketer_risk": figures.risks.marketer,
        "unique_records": figures.risks.unique,
    }
    for rule, found in zip(rules, figures.rules, strict=True):
        row[rule.column] = found.figure
        row[f"{rule.column}_holds"] = found.holds
        row[f"{rule.column}_witness"] = found.witness
    return row


def _quasi_identifiers(
    configurations: Configurations, named: Iterable[str] | None, apart: Sequence[str | None]
) -> tuple[str, ...]:
    if named is None:
        masked = dict.fromkeys(attribute for masks in configurations.values() for attribute in masks)
        found = tuple(name for name in masked if name not in apart)
        if not found:
            raise InvalidOption(
                "no quasi-identifier: the configurations mask nothing but the label or the sensitive "
                "attribute; pass quasi_identifiers=[...]"
            )
        return found
    found = list_of("quasi_identifiers", named, str, "list names of columns")
    if not found:
        raise InvalidOption("no quasi-identifier: quasi_identifiers is empty; name at least one column")
    if len(set(found)) < len(found):
        raise InvalidOption(f"quasi_identifiers names a column twice: {shown(list(found))}")
    if apart[1] in found:
        raise InvalidOption(
            f"{apart[1]!r} is the sensitive attribute and cannot be a quasi-identifier too: remove it there, "
            "or name another with sensitive="
        )
    return found
