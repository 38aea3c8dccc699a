"""The settings of a comparison, and the one place where they are checked."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from typing import Any, get_args

from aegis_opt._options import flag, number, one_of, whole_number
from aegis_opt.advisor._estimate import Progress, Scope
from aegis_opt.distances import Distance, get_distance
from aegis_opt.errors import InvalidInput, InvalidOption
from aegis_opt.harness._results import check_folder
from aegis_opt.harness._schema import TableName
from aegis_opt.harness._variant import RANDOM, SolverEntry, Variant
from aegis_opt.measures import Measure, get_measure
from aegis_opt.measures._registry import measure_for
from aegis_opt.rounding import ROUNDINGS

_LARGEST_SEED = 2**63 - 1  # what a column of whole numbers holds
_LONGEST = 7 * 24 * 3600  # seconds that a time limit may have: a timer takes no more than some centuries


@dataclass(frozen=True, kw_only=True, eq=False)
class ComparisonSettings:
    """What a comparison runs: every combination of variant, scope, histograms, measure and seed.

    Parameters
    ----------
    solvers : sequence
        Texts such as "ipf", "integer:l2", "ipf+controlled", "convex:l1+nearest[engine=HIGHS]"; mappings
        with keys solver, norm, rounding and options; configured `Reconstructor` objects. Beside
        `available_solvers()` there are other libraries to compare with ("ipfn", "humanleague",
        "humanleague-integerise", "sinkhorn") and "random", the baseline: a configuration drawn at random.
    measures : sequence of str or Measure
        Of `available_measures()`.
    norms, roundings : sequence of str, optional
        Run each solver that leaves its norm (rounding) open with each of these that it can take; a norm can
        be an object (`aegis_opt.distances`), and "ipf" alone stands for "kl". "none" is no rounding.
    scopes : sequence of {"pooled", "single"}
        As in `advise`.
    histograms : sequence of bool
        With and without the 1-D histograms.
    seeds : sequence of int
        One run each where the tables depend on the seed; only the first where they do not. A solver that
        brings a seed of its own is refused.
    replicates : int
        Of each random estimate, within one run; see `advise`.
    tables : sequence of {"advice", "reconstructions"}
        Which rows are wanted.
    n_jobs : int
        Number of processes; -1 is one per core. Results do not depend on it, but times do.
    time_limit : float, optional
        Seconds, at most a week, for each advisor run and each reconstruction, which then run in a process of
        their own that is killed when the time is over. A solver that hangs before the work, while it is
        loaded, is stopped a minute later.
    output : path, optional
        Results folder, written as the results come; see `load_results`. A run that was killed is continued
        by the same call. Without it nothing is written, and the results stay in memory.
    progress : callable, optional
        Called with (what, done, of how many).
    """

    solvers: Sequence[SolverEntry] = ("ipf",)
    measures: Sequence[str | Measure] = ("mi",)
    norms: Sequence[str | Distance] | None = None
    roundings: Sequence[str | None] | None = None
    scopes: Sequence[Scope] = ("pooled", "single")
    histograms: Sequence[bool] = (True, False)
    seeds: Sequence[int] = (0,)
    replicates: int = 1
    tables: Sequence[TableName] = ("reconstructions", "advice")
    n_jobs: int = 1
    time_limit: float | None = None
    output: str | os.PathLike[str] | None = None
    progress: Progress | None = None

    @property
    def variants(self) -> list[Variant]:
        """The solvers, once checked: norms and roundings are filled in."""
        return [Variant.of(solver) for solver in self.solvers]

    @property
    def measures_by_name(self) -> dict[str, Measure]:
        """The measures and what they are called."""
        return {measure.name: measure for measure in map(get_measure, self.measures)}

    def checked(self) -> ComparisonSettings:
        """Return the same settings as lists of variants, measures and numbers, or tell what is wrong."""
        norms = None if self.norms is None else distinct("norms", self.norms)
        roundings = None if self.roundings is None else distinct("roundings", self.roundings)
        variants = expand(_listed("solvers", self.solvers), norms, roundings)
        measures = [measure_for("class", measure) for measure in _listed("measures", self.measures)]
        distinct("measures", [measure.name for measure in measures])
        scopes = distinct("scopes", self.scopes)
        seeds = [whole_number("seed", s, least=0, most=_LARGEST_SEED) for s in _listed("seeds", self.seeds)]
        output = self.output
        if output is not None and (not isinstance(output, str | os.PathLike) or not os.fspath(output)):
            raise InvalidOption(f"output must name a folder, not {output!r}: leave it out to write none")
        settings = replace(
            self,
            solvers=variants,
            measures=measures,
            norms=None,
            roundings=None,
            scopes=[one_of("scope", scope, get_args(Scope)) for scope in scopes],
            histograms=distinct(
                "histograms", map(partial(flag, "histograms"), _listed("histograms", self.histograms))
            ),
            seeds=distinct("seeds", seeds),
            replicates=whole_number("replicates", self.replicates, least=1),
            n_jobs=number_of_processes(self.n_jobs),
            time_limit=_seconds(self.time_limit),
        )
        if output is not None:
            check_folder(output)
        return settings


def expand(
    entries: Sequence[SolverEntry],
    norms: Sequence[str | Distance] | None = None,
    roundings: Sequence[str | None] | None = None,
) -> list[Variant]:
    """Return the variants of a comparison: every entry, crossed with the norms and roundings it can take.

    An entry that names its norm or rounding keeps it, and so does one whose name stands for a norm, as
    "ipf" does for "kl". One that does not is run with each of `norms` that its solver minimises, and with
    each of `roundings` ("none" or None is no rounding) unless its tables are whole already. Every variant is
    configured once here, so that a wrong option is told before the work.
    """
    listed = [_norm(norm) for norm in norms or ()]
    for rounding in roundings or ():
        if rounding not in (None, "none", *ROUNDINGS):
            raise InvalidOption(f"unknown rounding {rounding!r}; known: none, {', '.join(ROUNDINGS)}")
    variants: list[Variant] = []
    used: set[str] = set()
    for variant in map(Variant.of, entries):
        if variant.is_random_choice:
            if variant != Variant(RANDOM):
                raise InvalidOption(f"{RANDOM!r} is a choice at random: it takes no norm, rounding or option")
            variants.append(variant)
            continue
        _refuse_misplaced(variant)
        kind, able = variant.kind, variant.kind.capabilities
        fitting: list[str | Distance | None] = [norm for norm in listed if kind.takes(get_distance(norm))]
        default = next((f.default for f in fields(kind) if f.name == "norm"), None)
        if default is None:
            fitting = [variant.norm]
        elif variant.norm is not None or kind.implied_norm is not None:
            norm = _norm(variant.norm or kind.implied_norm)
            fitting = [None if norm == kind.implied_norm else norm]
        elif norms is None:
            fitting = [str(default)]
        elif not fitting:
            raise InvalidOption(
                f"solver {variant.solver!r} minimises none of {', '.join(map(str, norms))}; it has: "
                f"{', '.join(able.norms)}"
            )
        used.update(able.norms if default is None else (str(n or kind.implied_norm) for n in fitting))
        rounded: list[str | None] = [variant.rounding]
        if variant.rounding is None and variant.configured is None and roundings and not able.integer:
            rounded = list(roundings)
        variants += [
            replace(variant, norm=norm, rounding=None if rounding == "none" else rounding)
            for norm in fitting
            for rounding in rounded
        ]
    for norm in listed:
        if str(norm) not in used:
            raise InvalidOption(f"no solver of this comparison minimises the norm {str(norm)!r}")
    for variant in distinct("variants", variants):
        if not variant.is_random_choice:
            variant.reconstructor()
    return variants


def _norm(norm: Any) -> str | Distance:
    """A distance, or its name with parameters written in one way."""
    return norm if isinstance(norm, Distance) else get_distance(norm).name


def _refuse_misplaced(variant: Variant) -> None:
    """Refuse what an entry says where nothing reads it."""
    options = dict(variant.options)
    seed = options.get("seed", 0 if variant.configured is None else variant.configured.seed)
    if "seed" in options or seed != 0:
        raise InvalidOption(
            f"solver {variant.solver!r} brings a seed of its own, {seed}: leave it out there and pass the "
            f"seeds of the comparison, seeds=[{seed}]"
        )
    for name, sign in (("norm", ":"), ("rounding", "+")):
        if name in options:
            raise InvalidOption(
                f"{name} is no option of a variant: write {variant.solver}{sign}{options[name]}, or the key "
                f"{name!r} beside 'solver'"
            )


def number_of_processes(n_jobs: Any) -> int:
    """Return how many processes `n_jobs` means: -1 is one per core, -2 one fewer, and so on."""
    n = whole_number("n_jobs", n_jobs)
    if n == 0:
        raise InvalidOption("n_jobs must be a number of processes, or -1 for one per core, not 0")
    return n if n > 0 else max(available_cores() + 1 + n, 1)


def available_cores() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def distinct(what: str, values: Any) -> list[Any]:
    """Return what a caller lists; refuse a value that is there twice."""
    found = _listed(what, values)
    texts = [str(value) for value in found]
    if len(set(texts)) < len(texts):
        raise InvalidOption(f"a {_one(what)} is listed twice: {', '.join(texts)}")
    return found


def _listed(what: str, values: Any) -> list[Any]:
    """Return what a caller lists; refuse one thing in place of a list, and an empty list."""
    if isinstance(values, str | bytes | Mapping) or not isinstance(values, Iterable):
        raise InvalidInput(f"{what} must be a list, such as [{values!r}], not {values!r}")
    found = list(values)
    if not found:
        raise InvalidInput(f"{what} must be a list of at least one {_one(what)}, not {values!r}")
    return found


def _one(what: str) -> str:
    return "choice (True, False)" if what == "histograms" else what.removesuffix("s")


def _seconds(limit: Any) -> float | None:
    if limit is None:
        return None
    try:
        return number("time_limit", limit, above=0, most=_LONGEST)
    except InvalidOption:
        raise InvalidOption(
            f"time_limit must be a positive number of seconds, at most {_LONGEST} (a week), not {limit!r}: "
            "leave it out for no limit"
        ) from None
