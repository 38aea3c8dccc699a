"""Masking configurations: which mask each attribute gets, under a name."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pandas as pd

from aegis_opt._display import FEW, Card, Displayed
from aegis_opt._json import check_text
from aegis_opt._options import expanded, instance, known_name, mapping_of, path_of
from aegis_opt._shown import listing, shortened, shown
from aegis_opt.domain import Domain, Kind
from aegis_opt.errors import ConfigurationError, MaskError, UnknownMask, UnknownName
from aegis_opt.masks._base import Identity, Mask, Suppress, mask_from_spec, naming
from aegis_opt.masks._documents import read_document, write_document
from aegis_opt.masks._generalize import Generalize
from aegis_opt.masks._hierarchy import MOST_CELLS, Hierarchy
from aegis_opt.masks._noise import NoiseMask
from aegis_opt.masks._order import Rule, check_orders, normal_orders
from aegis_opt.masks._spec_text import spec_text
from aegis_opt.masks._sql import Dialect, select_sql

_KEYS = ("label", "order", "configurations")  # of a file


class UnknownKey(UnknownName, KeyError):
    """A mapping has no entry of that name; being a `KeyError`, it keeps ``get`` and ``in`` working."""

    def __str__(self) -> str:
        return str(self.args[0])  # KeyError would show the quoted repr


class Configuration(Displayed, Mapping[str, Mask]):
    """One mask per attribute; an attribute that is absent is not masked.

    Parameters
    ----------
    masks : mapping of str to Mask
        The masked attributes.
    name : str
        What the configuration is called.

    Examples
    --------
    >>> from aegis_opt.masks import Suppress
    >>> Configuration({"age": Suppress()}, name="config01")
    Configuration('config01', {'age': Suppress()})
    """

    __slots__ = ("_masks", "_name")

    def __init__(self, masks: Mapping[str, Mask], name: str = "") -> None:
        if not isinstance(masks, Mapping):
            raise ConfigurationError(
                f"configuration {shown(name)} must map attributes to masks, not be {type(masks).__name__}"
            )
        for attribute, mask in masks.items():
            _check_name(
                attribute,
                f"configuration {shown(name)}: attribute {shown(attribute)} must be a name (a string), not "
                "empty: rename the column first",
            )
            if not isinstance(mask, Mask):
                raise ConfigurationError(
                    f"configuration {shown(name)}, attribute {shown(attribute)}: {shown(mask)} is no mask; "
                    "write e.g. Suppress() (with brackets), or mask_from_spec(...) for a mapping"
                )
        self._masks = MappingProxyType(dict(masks))
        self._name = name

    @property
    def name(self) -> str:
        """What the configuration is called."""
        return self._name

    def to_sql(
        self,
        dialect: Dialect = "duckdb",
        table: str = "source",
        columns: Sequence[str] | None = None,
        domains: Mapping[str, Domain | Kind] | None = None,
        *,
        suppress_below: int | None = None,
        quasi_identifiers: Iterable[str] | None = None,
    ) -> str:
        """Write the SELECT that masks a table; `aegis_opt.release.select_sql` explains the parameters.

        Examples
        --------
        >>> from aegis_opt.masks import Suppress
        >>> print(Configuration({"name": Suppress()}).to_sql("spark", "people", ["id", "name"]))
        SELECT
          `id`,
          '*' AS `name`
        FROM people
        """
        return select_sql(
            self,
            dialect,
            table,
            columns,
            domains,
            suppress_below=suppress_below,
            quasi_identifiers=quasi_identifiers,
        )

    def epsilons(self, domains: Mapping[str, Domain] | None = None) -> dict[str, float]:
        """Return the epsilon of local differential privacy of each masked attribute.

        Parameters
        ----------
        domains : mapping of str to Domain, optional
            The domains of attributes whose noise is neither declared nor fitted.

        Returns
        -------
        dict of str to float
            Infinity for masks without noise, but 0 for `Suppress`, which tells nothing.

        Examples
        --------
        >>> from aegis_opt.masks import RandomizedResponse, Suppress
        >>> noise = RandomizedResponse(epsilon=0.5, domain=["no", "yes"])
        >>> found = Configuration({"a": noise, "b": noise, "c": Suppress()}).epsilons()
        >>> {name: round(value, 6) for name, value in found.items()}
        {'a': 0.5, 'b': 0.5, 'c': 0.0}
        """
        known = {} if domains is None else mapping_of("domains", domains, "map attributes to domains")
        found = {}
        for name, mask in self.items():
            with naming(name):
                if isinstance(mask, NoiseMask):
                    found[name] = mask.epsilon_for(known.get(name))
                else:
                    found[name] = 0.0 if isinstance(mask, Suppress) else math.inf
        return found

    def epsilon(self, domains: Mapping[str, Domain] | None = None) -> float:
        """Return the epsilon of local differential privacy of the attributes with noise, all together.

        By composition it is the sum of theirs. Attributes that are masked without noise, or not at all, have
        no local differential privacy and are not counted; without any noise it is infinite.

        Parameters
        ----------
        domains : mapping of str to Domain, optional
            As of `epsilons`.

        Examples
        --------
        >>> from aegis_opt.masks import RandomizedResponse
        >>> noise = RandomizedResponse(epsilon=0.5, domain=["no", "yes"])
        >>> round(Configuration({"a": noise, "b": noise}).epsilon(), 6)
        1.0
        """
        noisy = [name for name, mask in self.items() if isinstance(mask, NoiseMask)]
        found = self.epsilons(domains)
        return sum((found[name] for name in noisy), 0.0) if noisy else math.inf

    def __getitem__(self, attribute: str) -> Mask:
        hint = f"Configuration {self._name!r} masks no others."
        return self._masks[known_name("attribute", attribute, self._masks, hint, error=UnknownKey)]

    def __iter__(self) -> Iterator[str]:
        return iter(self._masks)

    def __len__(self) -> int:
        return len(self._masks)

    def __reduce__(self) -> tuple[Any, ...]:
        return Configuration, (dict(self._masks), self._name)  # a read-only view cannot be copied or pickled

    def __hash__(self) -> int:
        return hash(frozenset(self._masks.items()))

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Configuration):
            return self._name == other._name and self._masks == other._masks
        return NotImplemented

    def _card(self) -> Card:
        rows = [[attribute, spec_text(mask.to_spec())] for attribute, mask in self.items()]
        unmasked = "Attributes that are absent stay as they are."
        return Card(
            title=f"Configuration {self._name!r}: masks of {len(self):,} attributes",
            conclusion=unmasked if rows else f"It masks nothing. {unmasked}",
            columns=["attribute", "mask"],
            rows=rows[:FEW],
            left=["attribute", "mask"],
            more=f"{len(rows) - FEW:,} more attributes." if len(rows) > FEW else "",
            calls=[
                ("ao.apply_configuration(source, configuration)", "masks a table"),
                ('configuration.to_sql("postgresql", "people")', "writes the SELECT that does"),
            ],
        )

    def __repr__(self) -> str:
        return f"Configuration({self._name!r}, {dict(self._masks)!r})"


class Configurations(Displayed, Mapping[str, Configuration]):
    """Named configurations, in order.

    Parameters
    ----------
    configurations : mapping of str to (mapping of str to Mask)
        The masks of each configuration.
    label : str, optional
        The class label. A configuration may mask it as any attribute, but not remove it (`Suppress`).
    order : mapping of str to list or str, optional
        The order of attributes, where it is not the usual one: numbers and dates are ordered by value, texts
        and booleans are nominal. A list has the values from first to last; values that the data do not have
        may be among them. "ascending" orders texts by the alphabet, "hierarchy" takes the order in which
        the hierarchy of the attribute's mask lists the values, and "nominal" says that there is no order.

    Examples
    --------
    >>> from aegis_opt.masks import Suppress
    >>> configurations = Configurations({"none": {}, "all": {"age": Suppress()}}, label="income")
    >>> list(configurations), configurations["all"]["age"]
    (['none', 'all'], Suppress())
    >>> Configurations({"c": {"size": Suppress()}}, order={"size": ["S", "M", "L"]}).order["size"]
    ('S', 'M', 'L')
    """

    __slots__ = ("_configurations", "_label", "_order")

    def __init__(
        self,
        configurations: Mapping[str, Mapping[str, Mask]],
        label: str | None = None,
        order: Mapping[str, str | Iterable[Any]] | None = None,
    ) -> None:
        if not isinstance(configurations, Mapping):
            raise ConfigurationError(
                "configurations must map names to {attribute: mask}, "
                f"not be {type(configurations).__name__}"
            )
        if label is not None:
            _check_name(
                label,
                f"the label must be the name of an attribute, not {shown(label)}: rename the column first",
            )
        named = {}
        for name, masks in configurations.items():
            _check_name(name, f"a configuration's name must be a non-empty string, not {shown(name)}")
            named[name] = Configuration(masks, name)
            if label is not None:
                check_label_mask(name, label, named[name])
        orders = normal_orders(order)
        check_orders(orders, list(named.values()), "order")
        self._configurations = MappingProxyType(named)
        self._label = label
        self._order = MappingProxyType(orders)

    @property
    def label(self) -> str | None:
        """The class label, if it is known."""
        return self._label

    @property
    def order(self) -> Mapping[str, Rule]:
        """The declared order of attributes: for each a tuple of values, or a word."""
        return self._order

    def __getitem__(self, name: str) -> Configuration:
        if name not in self._configurations:
            raise UnknownKey("configuration", name, self._configurations)
        return self._configurations[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._configurations)

    def __len__(self) -> int:
        return len(self._configurations)

    def __reduce__(self) -> tuple[Any, ...]:
        return Configurations, (dict(self._configurations), self._label, dict(self._order))

    def __hash__(self) -> int:
        return hash((self._label, tuple(self._configurations.items()), frozenset(self._order.items())))

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Configurations):
            same_order = list(self) == list(other)
            same_label = self._label == other._label and self._order == other._order
            return same_order and same_label and self._configurations == other._configurations
        return NotImplemented

    def save(self, path: str | Path) -> None:
        """Write the configurations to a JSON or YAML file; the short form of `save_configurations`."""
        save_configurations(self, path)

    def to_frame(self) -> pd.DataFrame:
        """Return the masks as a table of texts: a row per configuration, a column per attribute.

        An attribute that a configuration does not mask is "identity" there, as `Identity` is.

        Examples
        --------
        >>> from aegis_opt.masks import Blur, Suppress
        >>> Configurations({"c": {"age": Blur(5)}, "d": {"zip": Suppress()}}).to_frame()
                                 age       zip
        configuration
        c              blur(width=5)  identity
        d                   identity  suppress
        """
        attributes = self._attributes()
        rows = [
            [spec_text(masks[name].to_spec()) if name in masks else Identity.function for name in attributes]
            for masks in self.values()
        ]
        return pd.DataFrame(rows, index=pd.Index(list(self), name="configuration"), columns=attributes)

    def _attributes(self) -> list[str]:
        """Return the attributes that some configuration masks, in the order of their first appearance."""
        return list(dict.fromkeys(attribute for masks in self.values() for attribute in masks))

    def _card(self) -> Card:
        attributes = self._attributes()
        shown = list(self.items())[:FEW]
        rows = []
        for name, masks in shown:
            texts = [f"{attribute} {spec_text(mask.to_spec())}" for attribute, mask in masks.items()]
            rows.append([name, listing(texts, 4) or "nothing"])
        return Card(
            title=f"{len(self):,} configurations of {len(attributes):,} attributes",
            conclusion=f"Label: {self._label!r}. Attributes: {listing(attributes, FEW) or 'none'}."
            if self._label is not None
            else f"No label is named. Attributes: {listing(attributes, FEW) or 'none'}.",
            columns=["configuration", "masks"],
            rows=rows,
            left=["configuration", "masks"],
            more=f"{len(self) - FEW:,} more configurations." if len(self) > FEW else "",
            calls=[
                ("ao.summarize(source, label, configurations)", "counts what may be shared"),
                ("configurations.to_frame()", "lists all masks"),
                ('configurations.save("masks.yaml")', "writes a file"),
            ],
        )

    def __repr__(self) -> str:
        order = f", order of {', '.join(self._order)}" if self._order else ""
        return f"Configurations({len(self)}: {listing(list(self), FEW)}; label={self._label!r}{order})"


def check_label_mask(configuration: str, label: str, masks: Mapping[str, Mask]) -> None:
    """Refuse a configuration that removes the label: nothing would be left to predict."""
    if isinstance(masks.get(label), Suppress):
        raise ConfigurationError(
            f"configuration {configuration!r} suppresses the label {label!r}, so nothing is left to predict: "
            "remove that entry, mask the label so that two classes stay at least, or name another label"
        )


def _check_name(name: Any, refusal: str) -> None:
    """Refuse what is no name of a column or configuration: other than text, empty, or half a character."""
    if not isinstance(name, str) or not name:
        raise ConfigurationError(refusal)
    check_text(name, ConfigurationError)


def load_configurations(path: str | Path) -> Configurations:
    """Read configurations from a JSON or YAML file.

    The file holds ``{name: {attribute: {"function": ..., parameter: ...}}}``, by itself or wrapped as
    ``{"label": ..., "order": {...}, "configurations": {...}}``. Paths of hierarchies are relative to it.

    Parameters
    ----------
    path : path
        Ends in .json, .yaml or .yml.

    Returns
    -------
    Configurations
        In the order of the file.

    Raises
    ------
    ConfigurationError
        If the file is malformed; the text names the file, the configuration and the attribute.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "masks.yaml")
    ...     _ = path.write_text("config01: {age: {function: generalize, ranges: 4}}")
    ...     load_configurations(path)["config01"]["age"]
    Generalize(ranges=4)
    """
    path = path_of("path", path)
    document = read_document(path)
    try:
        return _parse(document, path.parent)
    except (ConfigurationError, MaskError, UnknownMask) as error:
        raise ConfigurationError(f"{str(path)!r}: {error}") from error


def as_configurations(given: object) -> Configurations:
    """Return the configurations that a caller gave as such, as a mapping or as the path of a file."""
    if isinstance(given, str | os.PathLike):
        given = load_configurations(path_of("configurations", given))
    if not isinstance(given, Configurations):
        if not isinstance(given, Mapping):
            raise ConfigurationError(
                "no configurations: pass Configurations, a mapping {name: {attribute: mask}}, or the path "
                f"of a configuration file, not {type(given).__name__}"
            )
        given = Configurations(given)
    if not given:
        raise ConfigurationError("no configurations: name at least one, e.g. {'all': {'age': Suppress()}}")
    return given


def save_configurations(configurations: Configurations, path: str | Path) -> None:
    """Write configurations to a JSON or YAML file, whole or not at all.

    A hierarchy that was read from a file is saved as its path, relative if the file lies in the folder of
    `path` or below; one that was made in memory, or whose file has changed since, is saved row by row.

    Parameters
    ----------
    configurations : Configurations
        What to save; ``load_configurations(path)`` gives it back.
    path : path
        Ends in .json, .yaml or .yml.

    Examples
    --------
    >>> import tempfile
    >>> from aegis_opt.masks import Blur
    >>> configurations = Configurations({"c": {"age": Blur(5)}}, label="income")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_configurations(configurations, Path(folder, "masks.json"))
    ...     load_configurations(Path(folder, "masks.json")) == configurations
    True
    """
    instance("configurations", configurations, Configurations, "Configurations({name: {attribute: mask}})")
    folder = path_of("path", path).parent
    named = {
        name: {attribute: _saved_spec(mask, folder) for attribute, mask in configuration.items()}
        for name, configuration in configurations.items()
    }
    label = {} if configurations.label is None else {"label": configurations.label}
    order = {a: rule if isinstance(rule, str) else list(rule) for a, rule in configurations.order.items()}
    write_document({**label, **({"order": order} if order else {}), "configurations": named}, path)


def _parse(document: Any, folder: Path) -> Configurations:
    if not isinstance(document, dict):
        raise ConfigurationError(f"it must hold {{name: {{attribute: mask}}}}, not {type(document).__name__}")
    label = order = None
    if "configurations" in document:
        if extra := [shortened(str(key)) for key in document if key not in _KEYS]:
            raise ConfigurationError(
                f"unknown key {', '.join(extra[:5])} beside 'configurations'; accepted: {', '.join(_KEYS)}"
            )
        label, order, document = document.get("label"), document.get("order"), document["configurations"]
        if not isinstance(document, dict):
            raise ConfigurationError(
                f"'configurations' must map names to {{attribute: mask}}, not be {type(document).__name__}"
            )
    if not document:
        raise ConfigurationError("it holds no configuration: add {name: {attribute: mask}}")
    named: dict[str, dict[str, Mask]] = {}
    hierarchies: dict[Path, Hierarchy] = {}
    for name, masks in document.items():
        if not isinstance(masks, dict):
            raise ConfigurationError(
                f"configuration {shown(name)} must map attributes to masks, not be {type(masks).__name__} "
                "(a label or an order stands beside 'configurations')"
            )
        named[name] = {}
        for attribute, spec in masks.items():
            try:
                named[name][attribute] = mask_from_spec(_with_hierarchy(spec, folder, hierarchies), folder)
            except (ConfigurationError, MaskError, UnknownMask) as error:
                raise ConfigurationError(
                    f"configuration {shown(name)}, attribute {shown(attribute)}: {error}"
                ) from error
    return Configurations(named, label, order)


def _with_hierarchy(spec: Any, folder: Path, known: dict[Path, Hierarchy]) -> Any:
    """Put the hierarchy that a spec names in place of its path; masks of one file share what it holds."""
    path = spec.get("hierarchy") if isinstance(spec, dict) else None
    if not isinstance(path, str):
        return spec
    place = expanded(path, folder)
    if place not in known:
        known[place] = Hierarchy.from_csv(place)
        if sum(len(each.rows) * each.n_levels for each in known.values()) > MOST_CELLS:
            raise ConfigurationError(
                f"the hierarchies that the file names have more than {MOST_CELLS:,} cells together, the most "
                "that are read: split it"
            )
    return {**spec, "hierarchy": known[place]}


def _saved_spec(mask: Mask, folder: Path) -> dict[str, Any]:
    spec = mask.to_spec()
    if isinstance(mask, Generalize) and isinstance(mask.hierarchy, Hierarchy) and mask.hierarchy.path:
        file = mask.hierarchy.path.resolve()
        if _still_holds(file, mask.hierarchy):
            inside = file.is_relative_to(folder.resolve())
            written = str(file.relative_to(folder.resolve()) if inside else file)
            spec["hierarchy"] = f"./{written}" if written.startswith("~") else written  # which is a home
    return spec


def _still_holds(file: Path, hierarchy: Hierarchy) -> bool:
    try:
        return Hierarchy.from_csv(file) == hierarchy
    except MaskError:
        return False
