"""Strict reading and writing of JSON and YAML: a key given twice is an error, not a silent loss."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import yaml

from aegis_opt._files import atomic_path, read_text
from aegis_opt._json import MOST_DEPTH, check_nested, parse_json
from aegis_opt._options import expanded
from aegis_opt._shown import shortened, shown
from aegis_opt.errors import ConfigurationError

MOST_BYTES = 64 * 2**20
"""The size of a configuration file in JSON."""
MOST_ITEMS = 5_000_000
"""Commas and opening brackets in a configuration file in JSON: entries, which take memory."""
MOST_YAML_BYTES = 4 * 2**20
"""The size of a configuration file in YAML, which takes a hundred times longer to read than JSON."""
MOST_NODES = 100_000
"""Entries of a configuration file in YAML, its aliases and merge keys written out."""

_YAML = (".yaml", ".yml")


def read_document(path: str | Path) -> Any:
    """Return the content of a JSON or YAML file, chosen by its ending."""
    path = expanded(path)
    _check_ending(path)
    is_yaml = path.suffix.lower() in _YAML
    most = MOST_YAML_BYTES if is_yaml else MOST_BYTES
    text = read_text(path, repr(str(path)), ConfigurationError, most=most)
    if not text.strip():
        raise ConfigurationError(f"{str(path)!r} is empty: it must hold {{name: {{attribute: mask}}}}")
    try:
        if is_yaml:
            return _parse_yaml(text)
        return parse_json(text, ConfigurationError, most_items=MOST_ITEMS)
    except ConfigurationError as error:
        raise ConfigurationError(f"{str(path)!r}: {error}") from error


def write_document(document: Any, path: str | os.PathLike[str]) -> None:
    """Write a JSON or YAML file, chosen by its ending, whole or not at all."""
    path = expanded(path)
    _check_ending(path)
    if path.suffix.lower() in _YAML:
        text = yaml.safe_dump(document, sort_keys=False, allow_unicode=True, default_flow_style=None)
    else:
        text = json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    with atomic_path(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def _check_ending(path: Path) -> None:
    """Refuse a file that is named neither as JSON nor as YAML."""
    if path.suffix.lower() not in (".json", *_YAML):
        raise ConfigurationError(f"{str(path)!r} must end in .json, .yaml or .yml, which says how to read it")


class _StrictLoader(yaml.SafeLoader):
    """YAML with unique keys, without the readings of YAML 1.1 that surprise people.

    ``yes`` and ``no`` stay text, as do ``01001`` (else octal) and ``12:30`` (else 750). Tags are refused, for
    nothing in a configuration needs one. What is nested too deeply or, with its aliases written out, has too
    many entries is refused before anything is made of it.
    """

    yaml_implicit_resolvers = {  # noqa: RUF012
        first: [(tag, pattern) for tag, pattern in resolvers if not tag.endswith((":bool", ":int", ":float"))]
        for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }

    def __init__(self, stream: str) -> None:
        super().__init__(stream)
        self._n_nodes = self._depth = 0

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        self._n_nodes += 1
        self._depth += 1
        if self._n_nodes > MOST_NODES:
            raise _too_many()
        if self._depth > MOST_DEPTH:
            raise _too_deep()
        event: Any = self.peek_event()  # type: ignore[no-untyped-call]
        tag = getattr(event, "tag", None)
        if tag not in (None, "!"):
            line = event.start_mark.line + 1
            raise ConfigurationError(f"line {line}: the tag {shown(tag)} is not read: remove it")
        node: yaml.Node | None = super().compose_node(parent, index)
        self._depth -= 1
        return node

    def get_single_node(self) -> yaml.Node | None:
        node: yaml.Node | None = super().get_single_node()
        if node is not None:
            _written_out(node, {})
        return node

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen: dict[Any, int] = {}
        for key_node, _ in node.value:
            is_merge = key_node.tag == "tag:yaml.org,2002:merge"  # <<: *other, whose keys may be overridden
            key = "<<" if is_merge else self.construct_object(key_node, deep=True)
            line = key_node.start_mark.line + 1
            if isinstance(key, list | dict):
                raise ConfigurationError(f"line {line}: a key must be a name or a number, not {shown(key)}")
            if key in seen:
                raise ConfigurationError(
                    f"the key {shown(key)} is given twice in one mapping, at lines {seen[key]} and {line}: "
                    "rename or remove one"
                )
            seen[key] = line
        return super().construct_mapping(node, deep)

    def construct_whole_number(self, node: yaml.ScalarNode) -> int:
        try:
            return int(node.value)
        except ValueError:  # Python reads no integers of more than 4,300 digits
            line = node.start_mark.line + 1
            raise ConfigurationError(
                f"line {line} has a number of thousands of digits: write it in 64 bits, or as text"
            ) from None


def _written_out(node: yaml.Node, known: dict[yaml.Node, tuple[int, int] | None]) -> tuple[int, int]:
    """Return how many entries a node has and how deep it is, with aliases written out.

    An alias refers to what comes before it, so every node is counted once, however often it is used.
    """
    if node in known:
        found = known[node]
        if found is None:
            line = node.start_mark.line + 1
            raise ConfigurationError(f"line {line}: an alias refers to what it is part of: write it out")
        return found
    known[node] = None
    inner = node.value if isinstance(node, yaml.SequenceNode) else []
    if isinstance(node, yaml.MappingNode):
        inner = [part for pair in node.value for part in pair]
    sizes = [_written_out(part, known) for part in inner]
    size, depth = 1 + sum(size for size, _ in sizes), 1 + max((depth for _, depth in sizes), default=0)
    if size > MOST_NODES:
        raise _too_many()
    if depth > MOST_DEPTH:
        raise _too_deep()
    known[node] = size, depth
    return size, depth


def _too_many() -> ConfigurationError:
    return ConfigurationError(
        f"it has more than {MOST_NODES:,} entries, aliases written out: split it, or write it as JSON"
    )


def _too_deep() -> ConfigurationError:
    return ConfigurationError(f"it is nested deeper than {MOST_DEPTH} levels: make it flatter")


# Each pattern accepts only what PyYAML's own does, so that whatever PyYAML writes unquoted reads back.
_StrictLoader.add_implicit_resolver(
    "tag:yaml.org,2002:bool", re.compile(r"^(?:true|True|TRUE|false|False|FALSE)$"), list("tTfF")
)
_StrictLoader.add_implicit_resolver(
    "tag:yaml.org,2002:int", re.compile(r"^[-+]?(?:0|[1-9][0-9]*)$"), list("-+0123456789")
)
_StrictLoader.add_constructor("tag:yaml.org,2002:int", _StrictLoader.construct_whole_number)
_StrictLoader.add_implicit_resolver(
    "tag:yaml.org,2002:float",
    re.compile(r"^(?:[-+]?[0-9]+\.[0-9]*(?:[eE][-+][0-9]+)?|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))$"),
    list("-+0123456789."),
)


def _parse_yaml(text: str) -> Any:
    try:
        document = yaml.load(text, Loader=_StrictLoader)
    except ConfigurationError:  # which is a ValueError, too
        raise
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        where = f" at line {mark.line + 1}, column {mark.column + 1}" if mark else ""
        problem = shortened(error.problem or error.context or "")
        raise ConfigurationError(f"malformed YAML{where}: {problem}") from error
    except (yaml.YAMLError, ValueError, OverflowError) as error:  # the latter: a date such as 2020-02-31
        raise ConfigurationError(f"malformed YAML: {shortened(str(error))}") from error
    check_nested(document, ConfigurationError)
    return document
