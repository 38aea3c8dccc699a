"""Privacy rules that an advisor requires, judged by the figures that the provider shared."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import pandas as pd

from aegis_opt.errors import InvalidOption
from aegis_opt.privacy import PrivacyRule
from aegis_opt.privacy._base import as_rules
from aegis_opt.privacy._written import rule_text
from aegis_opt.summary import AnySummary, ProtectedSummary, SharedPrivacy, SharedRule
from aegis_opt.summary._privacy import rules_shown


def judged(
    summary: AnySummary, require: PrivacyRule | Iterable[PrivacyRule]
) -> tuple[list[str], dict[str, str]]:
    """Return the configurations that satisfy all rules, and of each other one the reason why not.

    Raises
    ------
    InvalidOption
        If the figures were not shared, cannot tell, or no configuration satisfies the rules.
    """
    rules = as_rules(require)
    if isinstance(summary, ProtectedSummary):
        raise InvalidOption(
            f"{rule_text(rules[0])} is required, but a protected summary shares no privacy figures, which "
            "would be exact: the provider can keep the configurations that check_privacy finds private, and "
            "summarize these"
        )
    privacy = summary.privacy
    if privacy is None:
        raise InvalidOption(
            f"{rule_text(rules[0])} is required, but the summary shares no privacy figures: ask the provider "
            f"for summarize(..., rules=[{', '.join(map(str, rules))}])"
        )
    pairs = [(rule, _shared(privacy, rule)) for rule in rules]
    kept, reasons = [], {}
    for name in summary.configurations:
        failing = _failing(privacy, pairs, name)
        if failing:
            reasons[name] = "; ".join(failing)
        else:
            kept.append(name)
    if not kept:
        best = [f"{shared.rule.name} {_best(shared):g}" for _, shared in pairs if len(shared.figures)]
        raise InvalidOption(
            f"no configuration satisfies {', '.join(map(rule_text, rules))}: the best that one reaches is "
            f"{', '.join(best)}; mask more, or require less"
        )
    return kept, reasons


def _shared(privacy: SharedPrivacy, rule: PrivacyRule) -> SharedRule:
    """Return what was shared about rules of the same kind, whose levels can be compared."""
    for shared in privacy.rules:
        same = shared.rule.column == rule.column
        if same and getattr(shared.rule, "c", None) == getattr(rule, "c", None):
            return shared
    raise InvalidOption(
        f"{rule_text(rule)} is required, but the summary shares figures of {rules_shown(privacy)} only: ask "
        f"the provider for summarize(..., rules=[{rule}])"
    )


def _failing(privacy: SharedPrivacy, pairs: list[tuple[PrivacyRule, SharedRule]], name: str) -> list[str]:
    """Return why a configuration fails; nothing where it does not.

    The figures of a private configuration are of what is left after suppression, and the records that were
    suppressed are no more than allowed: what the figures satisfy, holds. The figures of others are of all
    records: what they satisfy, holds, too. Without suppression, everything else fails.
    """
    failing = [
        f"{rule.name} is {shared.figures[name]:g}, and {rule_text(rule)} is required"
        for rule, shared in pairs
        if not rule.satisfied_by(shared.figures[name])
    ]
    if not failing or privacy.suppression == 0:
        return failing
    for rule, shared in pairs:  # at least as strict as a rule that too many records violate
        if not shared.holds[name] and shared.rule.satisfied_by(rule.level):
            return failing
    covered = {shared.rule.column for rule, shared in pairs if shared.rule.satisfied_by(rule.level)}
    if not privacy.private[name] and covered == {shared.rule.column for shared in privacy.rules}:
        return failing
    asked = ", ".join(rule_text(rule) for rule, _ in pairs)
    raise InvalidOption(
        f"the summary shares {rules_shown(privacy)} with up to {privacy.suppression:.3g} of the records "
        f"suppressed, which does not tell whether {name!r} satisfies {asked}: require what was shared, or "
        "ask the provider for these rules"
    )


def _best(shared: SharedRule) -> float:
    values = shared.figures.values()
    return max(values) if shared.rule.higher_is_better else min(values)


def required(require: PrivacyRule | Iterable[PrivacyRule] | None) -> str | None:
    """Return the rules as commands write them."""
    return None if require is None else " ".join(map(rule_text, as_rules(require)))


def with_figures(ranking: pd.DataFrame, privacy: SharedPrivacy) -> pd.DataFrame:
    """Add the privacy figures as columns, called as the rules are."""
    names = ranking["configuration"]
    figures: Mapping[str, list[float]] = {
        shared.rule.column: [shared.figures[name] for name in names] for shared in privacy.rules
    }
    return ranking.assign(**figures)


def excluded_frame(reasons: Mapping[str, str]) -> pd.DataFrame:
    """List the configurations that are out of the ranking, with the reasons."""
    return pd.DataFrame(reasons.items(), columns=["configuration", "reason"], dtype=object)
