"""How an advice was made, and what was assumed: commands, versions, seed, digests."""

from __future__ import annotations

import platform
import shlex
from hashlib import sha256
from importlib.metadata import version

from aegis_opt._shown import shown
from aegis_opt.advisor import Advice
from aegis_opt.advisor._attribute_warnings import undescribed
from aegis_opt.advisor._numbers import is_lower_bound
from aegis_opt.errors import AdviceError, InvalidOption
from aegis_opt.privacy import PrivacyRule
from aegis_opt.privacy._written import rule_from_spec
from aegis_opt.summary import ProtectedSummary, Summary
from aegis_opt.summary._file import summary_text

_PACKAGES = ("aegis-opt", "numpy", "scipy", "pandas")
_OPTIONS = (
    "measure",
    "solver",
    "scope",
    "rounding",
    "seed",
    "replicates",
    "bootstrap",
)  # of the command, too


def command_of(advice: Advice, record: str) -> str:
    """Return the command that makes the same advice and this record."""
    asked = dict(advice.asked)
    words = ["aegis-opt", "advise", str(asked.pop("summary", "summary.json"))]
    asked.pop("sha256", None)
    if asked.get("seed") == 0:
        asked.pop("seed")
    for name, value in asked.items():
        if name in _OPTIONS:
            words += [f"--{name}", str(value)]
        elif name == "require":
            words += [word for rule in str(value).split() for word in ("--require", rule)]
        elif name == "chance":
            words += ["--chance"]
        elif name == "histograms":
            words += ["--no-histograms"] if value is False else []
        else:
            words += ["--option", f"{name}={value}"]
    return shlex.join([*words, "--report", record])


def call_of(advice: Advice) -> str:
    """Return the call in Python that makes the same advice."""
    asked = dict(advice.asked)
    path = asked.pop("summary", "summary.json")
    asked.pop("sha256", None)
    if asked.get("seed") == 0:
        asked.pop("seed")
    rules = [f"ao.privacy.{_rule(text)!r}" for text in str(asked.pop("require", "")).split()]
    options = "".join(f", {name}={value!r}" for name, value in asked.items())
    require = f", require=[{', '.join(rules)}]" if rules else ""
    return f"ao.advise({path!r}{options}{require})"


def _rule(text: str) -> PrivacyRule:
    """Return a privacy rule that is written as commands do: k=5, or l=2,kind=entropy."""
    parts = (part.partition("=") for part in text.split(","))
    try:
        return rule_from_spec({name: _value(value) for name, _, value in parts})
    except InvalidOption as error:
        raise AdviceError(f"the advice requires {shown(text)}, which is no privacy rule: {error}") from error


def _value(word: str) -> bool | int | float | str:
    """Return what a parameter of a privacy rule says: a truth value, a number or a word."""
    if word in ("true", "false"):
        return word == "true"
    try:
        number = float(word)
    except ValueError:
        return word
    return int(number) if number.is_integer() else number


def facts_about(advice: Advice, record: str, written: str) -> list[tuple[str, str]]:
    """List what one needs to make the record again, and to check what it rests on."""
    facts = [
        ("Written", written),
        ("Command", command_of(advice, record)),
        ("In Python", call_of(advice)),
        ("Random seed", str(advice.asked.get("seed", 0))),
    ]
    if "sha256" in advice.asked:
        facts.append((f"SHA-256 of {advice.asked.get('summary')}", str(advice.asked["sha256"])))
    elif advice.summary is not None:
        digest = sha256(summary_text(advice.summary).encode("utf-8")).hexdigest()
        facts.append(("SHA-256 of the summary as a .json file", digest))
    versions = ", ".join(f"{name} {version(name)}" for name in _PACKAGES)
    return [*facts, ("Versions", f"{versions}, Python {platform.python_version()}")]


def assumptions_of(advice: Advice) -> list[str]:
    """Say what the conclusion rests on."""
    summary, criterion = advice.summary, advice.criterion
    by_score = summary is not None and advice.measure in summary.scores
    found = ["The shared numbers are right: an advisor cannot check them against the records."]
    if by_score:
        found.append(
            f"{criterion.title} judges all masked attributes together, by the records of the provider."
        )
    else:
        found.append(
            "Attributes are judged one at a time, and each counts as much as any other; what attributes tell "
            "together is not judged."
        )
    if advice.certified and not by_score:
        found.append(
            f"Merging values never improves {criterion.title}. All masked tables come from the same records, "
            "and a table that meets all of them was found, so the order of the deviations is proved."
        )
    elif advice.best is not None:
        found.append("Nothing is proved about the order; it is an estimate from what was shared.")
    if is_lower_bound(advice.ranking):
        found.append("Deviations are the least that the shared tables allow; the true ones may be larger.")
    if advice.scope is not None:
        views = "all views together" if advice.scope == "pooled" else "the view of each configuration alone"
        found.append(f"Unmasked tables were reconstructed from {views}, by the solver {advice.solver}.")
    if "wins" in advice.ranking:
        found.append("The estimate is random; its spread over the replicates stands in the ranking.")
    if isinstance(summary, ProtectedSummary):
        found.append(
            f"The counts are protected: {summary.protection.statement()}. Negative counts and totals that "
            "disagree were reconciled. The intervals are of what the protection changes, simulated; that "
            "other records might have been drawn is not in them."
        )
    if isinstance(summary, Summary):
        unknown = undescribed(summary)
        if unknown:
            found.append(f"{len(unknown):,} attributes that no shared table describes count as 0.")
        coarsened = [name for name, attribute in summary.attributes.items() if attribute.coarsening]
        if coarsened:
            found.append(f"{len(coarsened):,} attributes were read with fewer values than the source has.")
    return found
