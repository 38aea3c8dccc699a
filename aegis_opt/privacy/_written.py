"""Privacy rules as files and commands write them: by the names and values of their parameters."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from aegis_opt._shown import shown
from aegis_opt.errors import InvalidOption
from aegis_opt.privacy._base import PrivacyRule
from aegis_opt.privacy._rules import BetaLikeness, DeltaDisclosure, KAnonymity, LDiversity, TCloseness

_KINDS: dict[str, type[PrivacyRule]] = {
    fields(kind)[0].name: kind for kind in (KAnonymity, LDiversity, TCloseness, DeltaDisclosure, BetaLikeness)
}


def rule_to_spec(rule: PrivacyRule) -> dict[str, Any]:
    """Return a rule as a mapping that JSON can hold: its parameters that differ from their defaults.

    Examples
    --------
    >>> rule_to_spec(KAnonymity(5)), rule_to_spec(LDiversity(2, kind="entropy"))
    ({'k': 5}, {'l': 2.0, 'kind': 'entropy'})
    """
    values = {field: getattr(rule, field.name) for field in fields(rule)}
    return {field.name: value for field, value in values.items() if value != field.default}


def written_label(label: Any) -> Any:
    """Return a masked value as a certificate writes it: no number of JSON is infinite.

    Examples
    --------
    >>> written_label(float("-inf")), written_label(2.5)
    ('-Infinity', 2.5)
    """
    if isinstance(label, float) and math.isinf(label):
        return "Infinity" if label > 0 else "-Infinity"
    return label


def rule_from_spec(spec: Mapping[str, Any]) -> PrivacyRule:
    """Return the rule that a mapping of parameters stands for; k, l, t, delta or beta says of which kind.

    Examples
    --------
    >>> rule_from_spec({"t": 0.2, "ordered": True})
    TCloseness(t=0.2, ordered=True)
    """
    named = [name for name in _KINDS if name in spec]
    if len(named) != 1:
        raise InvalidOption(
            f"a privacy rule has one of {', '.join(_KINDS)}, such as k=5; {shown(dict(spec))} has "
            f"{len(named)}"
        )
    kind = _KINDS[named[0]]
    known = [field.name for field in fields(kind)]
    if unknown := [name for name in spec if name not in known]:
        raise InvalidOption(
            f"the privacy rule with {named[0]} has no parameter {shown(unknown[0])}; known: "
            f"{', '.join(known)}"
        )
    return kind(**spec)


def rule_text(rule: PrivacyRule) -> str:
    """Return a rule as commands write it.

    Examples
    --------
    >>> rule_text(LDiversity(2, kind="recursive")), rule_text(TCloseness(0.2, ordered=True))
    ('l=2,kind=recursive,c=3', 't=0.2,ordered=true')
    """
    return ",".join(f"{name}={_word(value)}" for name, value in rule_to_spec(rule).items())


def _word(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:g}" if isinstance(value, float) else str(value)
