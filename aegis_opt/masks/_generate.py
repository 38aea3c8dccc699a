"""Draw masking configurations at random, or list all of them."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from aegis_opt._options import flag, instance, known_name, list_of, mapping_of, seed_number, whole_number
from aegis_opt.domain import Domain
from aegis_opt.errors import ConfigurationError, InvalidInput, InvalidOption, UnknownColumn
from aegis_opt.masks._base import Mask, group_attribute, naming
from aegis_opt.masks._candidates import (
    Known,
    Strength,
    distinct_candidates,
    information_loss,
    strength_value,
)
from aegis_opt.masks._configuration import Configuration, Configurations
from aegis_opt.masks._order import Rule, arrange, normal_orders
from aegis_opt.sources import columns, open_engine, scan, scan_counts, scan_domains

_WIDTH = 0.2  # how far from the wanted strength a weight has fallen to 1/e


def generate_configurations(
    data_or_schema: Any,
    label: str,
    n: int = 50,
    seed: int = 0,
    strength: Strength | float = "medium",
    attributes: Sequence[str] | None = None,
    include_suppress: bool = True,
    name: str = "config{:02d}",
    order: Mapping[str, str | Iterable[Any]] | None = None,
    include_identity: bool = True,
    learn_from_label: bool = False,
) -> Configurations:
    """Draw distinct masking configurations: one candidate mask per attribute, at random.

    A candidate whose information loss is l = 1 - log(G)/log(n) is drawn with weight
    exp(-((l - strength) / 0.2)^2). Whenever a configuration is drawn again, the weights are flattened a
    little, so that any number of configurations that exist is reached.

    Parameters
    ----------
    data_or_schema : DataFrame, mapping of str to Domain, or any source
        The attributes and their values.
    label : str
        The class label, which is never masked.
    n : int
        How many configurations; no two give the same groups.
    seed : int
        The same seed gives the same configurations.
    strength : {"light", "medium", "strong"} or float in [0, 1]
        Wanted information loss; the words stand for 0.2, 0.5 and 0.8.
    attributes : sequence of str, optional
        Which to mask; by default all but the label.
    include_suppress : bool
        Whether an attribute may be merged into one group.
    name : str
        Format of the names, filled with 1, 2, ...
    order : mapping of str to list or str, optional
        The order of attributes, as in `Configurations`, which keeps it. A list must have every value.
    include_identity : bool
        Whether categories all of whose values occur at least 5 times may stay as they are.
    learn_from_label : bool
        Whether the hierarchies of categories are learned from the label, too (see `learn_hierarchy`): the
        configurations then tell something about it. By default only from how often values occur.

    Returns
    -------
    Configurations
        With `label` and `order` set; the order of ordered categories of a frame is kept, too. Masks list the
        values that they keep, so the configurations say what they do by themselves.

    Examples
    --------
    >>> schema = {"age": Domain.of(range(17, 91)), "sex": Domain.of(["F", "M"]), "income": Domain.of([0, 1])}
    >>> configurations = generate_configurations(schema, label="income", n=3)
    >>> list(configurations), list(configurations["config01"])
    (['config01', 'config02', 'config03'], ['age', 'sex'])
    """
    n = whole_number("n", n, least=1)
    seed = seed_number("seed", seed)
    flag("include_suppress", include_suppress)
    flag("include_identity", include_identity)
    wanted = strength_value(strength)
    names = _names(name, n)
    masks: list[list[Mask]] = []
    weights: list[np.ndarray[Any, np.dtype[np.float64]]] = []
    if label is not None:
        instance("label", label, str, "give the name of a column")
    counted = _counted(data_or_schema, label, flag("learn_from_label", learn_from_label))
    domains = _chosen({name: column.domain for name, column in counted.items()}, label, attributes)
    orders = kept_orders(data_or_schema, domains, order)
    for attribute, domain in domains.items():
        known = _known(attribute, counted[attribute], orders)
        found = distinct_candidates(domain, known, include_suppress, include_identity)
        losses = np.array([information_loss(grouping) for _, grouping in found])
        masks.append([mask for mask, _ in found])
        weights.append(-(((losses - wanted) / _WIDTH) ** 2))
    count = math.prod(map(len, masks))
    if n > count:
        raise ConfigurationError(
            f"only {count} distinct configurations exist for {len(domains)} attributes, fewer than n={n}: "
            "ask for fewer, mask more attributes, or list all of them with all_configurations"
        )
    rng = np.random.default_rng(seed)
    flatness = 1.0
    drawn: dict[tuple[int, ...], None] = {}
    while len(drawn) < n:
        picks = tuple(_pick(rng, weight * flatness) for weight in weights)
        if picks in drawn:
            flatness *= 0.99
        drawn[picks] = None
    return Configurations(
        {
            chosen: {a: masks[i][pick] for i, (a, pick) in enumerate(zip(domains, picks, strict=True))}
            for chosen, picks in zip(names, drawn, strict=True)
        },
        label=label,
        order=orders,
    )


class _KnownColumn(NamedTuple):
    """A column as far as it is known: of a schema only the values."""

    domain: Domain
    counts: npt.NDArray[np.int64] | None  # one column, or one per label


def _counted(data_or_schema: Any, label: str, learn_from_label: bool) -> dict[str, _KnownColumn]:
    """Count the values of all columns, those of attributes by label where that is asked for."""
    if isinstance(data_or_schema, Mapping):
        if learn_from_label:
            raise InvalidOption("a schema has no counts to learn from: give the data, or no learn_from_label")
        return {
            name: _KnownColumn(domain, None) for name, domain in domains_of(data_or_schema, label).items()
        }
    known_name("label column", label, columns(data_or_schema), error=UnknownColumn)
    if not learn_from_label:
        counted = scan_counts(data_or_schema)
        return {name: _KnownColumn(column.domain, column.counts[:, None]) for name, column in counted.items()}
    found = scan(data_or_schema, label)
    by_label = {name: _KnownColumn(joint.domain, joint.table) for name, joint in found.attributes.items()}
    return {**by_label, label: _KnownColumn(found.label_domain, None)}


def _known(attribute: str, column: _KnownColumn, orders: Mapping[str, Rule]) -> Known:
    rule = orders.get(attribute)
    return Known(arrange(attribute, column.domain, None if rule == "hierarchy" else rule, []), column.counts)


def kept_orders(
    data_or_schema: Any, domains: Mapping[str, Domain], order: Mapping[str, str | Iterable[Any]] | None
) -> dict[str, Rule]:
    """Return the orders that generated configurations keep: those of types of columns, and those given."""
    typed = {} if isinstance(data_or_schema, Mapping) else open_engine(data_or_schema).orders()
    given = normal_orders(order)
    for attribute, rule in given.items():
        if attribute in domains and rule != "hierarchy":
            arrange(attribute, domains[attribute], rule, [])  # one that misses values fails now
    return {**{name: rule for name, rule in typed.items() if name in domains}, **given}


def all_configurations(
    data_or_schema: Any,
    label: str,
    candidates: Mapping[str, Sequence[Mask]] | None = None,
    name: str = "config{:02d}",
) -> Iterator[Configuration]:
    """Iterate over every combination of candidate masks; the last attribute changes fastest.

    Parameters
    ----------
    data_or_schema : DataFrame, mapping of str to Domain, or any source
        The attributes and their values.
    label : str
        The class label, which is never masked.
    candidates : mapping of str to sequence of Mask, optional
        The masks to combine; an attribute that is absent is not masked. By default `candidate_masks` of
        every attribute and its counts.
    name : str
        Format of the names, filled with 1, 2, ...

    Returns
    -------
    iterator of Configuration
        `count_configurations` of them, each made when it is asked for.

    Examples
    --------
    >>> schema = {"sex": Domain.of(["F", "M"]), "income": Domain.of([0, 1])}
    >>> from aegis_opt.masks import Identity, Suppress
    >>> [dict(c) for c in all_configurations(schema, "income", {"sex": [Suppress(), Identity()]})]
    [{'sex': Suppress()}, {'sex': Identity()}]
    """
    chosen = _candidates(data_or_schema, label, candidates)
    _names(name, 1)
    return (
        Configuration(dict(zip(chosen, masks, strict=True)), name.format(i))
        for i, masks in enumerate(itertools.product(*chosen.values()), start=1)
    )


def count_configurations(
    data_or_schema: Any, label: str, candidates: Mapping[str, Sequence[Mask]] | None = None
) -> int:
    """Return how many configurations `all_configurations` yields.

    Examples
    --------
    >>> schema = {"sex": Domain.of(["F", "M"]), "income": Domain.of([0, 1])}
    >>> from aegis_opt.masks import Identity, Suppress
    >>> count_configurations(schema, "income", {"sex": [Suppress(), Identity()]})
    2
    """
    return math.prod(len(masks) for masks in _candidates(data_or_schema, label, candidates).values())


def domains_of(data_or_schema: Any, label: str) -> dict[str, Domain]:
    """Return the domain of every attribute and of the label.

    Parameters
    ----------
    data_or_schema : mapping of str to Domain, or any source
        The domains themselves, or records to find them in.
    label : str
        Must be one of the attributes.

    Examples
    --------
    >>> import pandas as pd
    >>> domains_of(pd.DataFrame({"age": [20, 30, 20], "y": [0, 1, 1]}), "y")["age"].to_list()
    [20, 30]
    """
    if isinstance(data_or_schema, Mapping):
        domains = dict(data_or_schema)
        for attribute, domain in domains.items():
            if not isinstance(domain, Domain):
                raise InvalidInput(
                    f"attribute {attribute!r} of the schema must be a Domain, not {type(domain).__name__}: "
                    "write Domain.of(values)"
                )
    else:
        domains = scan_domains(data_or_schema)
    known_name("label column", label, domains, error=UnknownColumn)
    return domains


def _candidates(
    data_or_schema: Any, label: str, candidates: Mapping[str, Sequence[Mask]] | None
) -> dict[str, tuple[Mask, ...]]:
    counted = _counted(data_or_schema, label, learn_from_label=False)
    domains = {name: column.domain for name, column in counted.items()}
    if candidates is None:
        chosen = _chosen(domains, label, None)
        orders = kept_orders(data_or_schema, chosen, None)
        return {
            a: tuple(mask for mask, _ in distinct_candidates(domain, _known(a, counted[a], orders)))
            for a, domain in chosen.items()
        }
    mapping_of("candidates", candidates, "write {'age': [Identity(), Suppress()]}")
    _chosen(domains, label, list(candidates))
    found = {
        attribute: list_of(f"the candidates of {attribute!r}", masks, Mask, "write e.g. [Suppress()]")
        for attribute, masks in candidates.items()
    }
    for attribute, masks in found.items():
        if not masks:
            raise ConfigurationError(f"attribute {attribute!r} has no candidate: give Identity() to keep it")
        for mask in masks:
            if not mask.needs_counts:
                group_attribute(mask, attribute, domains[attribute])  # an unfit one fails now, not midway
                continue
            with naming(attribute):
                mask.check_kind(domains[attribute])
                if (counts := counted[attribute].counts) is not None:
                    mask.fitted(domains[attribute], counts)
    return found


def _chosen(domains: dict[str, Domain], label: str, attributes: Sequence[str] | None) -> dict[str, Domain]:
    if attributes is None:
        attributes = [a for a in domains if a != label]
    attributes = list_of("attributes", attributes, str, "name columns")
    if label in attributes:
        raise ConfigurationError(f"the label {label!r} must not be masked: leave it out of the attributes")
    for attribute in attributes:
        if attribute not in domains:
            raise UnknownColumn("attribute", attribute, domains)
    if not attributes:
        raise ConfigurationError(f"there is no attribute to mask beside the label {label!r}")
    return {a: domains[a] for a in attributes}


def _names(template: str, n: int) -> list[str]:
    try:
        names = [template.format(i) for i in range(1, n + 1)]
        fixed = template.format(1) == template.format(2)
    except (AttributeError, IndexError, KeyError, ValueError) as error:
        raise InvalidInput(f"name must be a format such as 'config{{:02d}}', not {template!r}") from error
    if fixed:
        raise InvalidInput(f"name must have a place for a number, such as 'config{{:02d}}', not {template!r}")
    return names


def _pick(rng: np.random.Generator, log_weights: np.ndarray[Any, np.dtype[np.float64]]) -> int:
    """Draw a place with probability proportional to exp(log weight)."""
    cumulative = np.cumsum(np.exp(log_weights - log_weights.max()))
    return int(np.searchsorted(cumulative, rng.random() * cumulative[-1], side="right"))
