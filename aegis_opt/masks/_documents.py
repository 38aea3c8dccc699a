"""Strict reading and writing of JSON and YAML: a key given twice is an error, not a silent loss."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import yaml

from aegis_opt._files import atomic_path, read_text
from aegis_opt.errors import ConfigurationError

_YAML = (".yaml", ".yml")


def read_document(path: str | Path) -> Any:
    """Return the content of a JSON or YAML file, chosen by its ending."""
    path = Path(path)
    _check_ending(path)
    text = read_text(path, repr(str(path)), ConfigurationError)
    if not text.strip():
        raise ConfigurationError(f"{str(path)!r} is empty: it must hold {{name: {{attribute: mask}}}}")
    try:
        return _parse_yaml(text) if path.suffix.lower() in _YAML else _parse_json(text)
    except ConfigurationError as error:
        raise ConfigurationError(f"{str(path)!r}: {error}") from error


def write_document(document: Any, path: str | Path) -> None:
    """Write a JSON or YAML file, chosen by its ending, whole or not at all."""
    path = Path(path)
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


def _parse_json(text: str) -> Any:
    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for key, value in pairs:
            if key in found:
                raise ConfigurationError(f"the key {key!r} is given twice in one object: remove one")
            found[key] = value
        return found

    def refuse(constant: str) -> Any:
        raise ConfigurationError(f"{constant} is no JSON number: write null for a missing value")

    try:
        return json.loads(text, object_pairs_hook=once, parse_constant=refuse)
    except json.JSONDecodeError as error:
        raise ConfigurationError(
            f"malformed JSON at line {error.lineno}, column {error.colno}: {error.msg}"
        ) from error
    except RecursionError:
        raise ConfigurationError("malformed JSON: it is nested too deeply") from None


class _StrictLoader(yaml.SafeLoader):
    """YAML with unique keys, without the readings of YAML 1.1 that surprise people.

    ``yes`` and ``no`` stay text, as do ``01001`` (else octal) and ``12:30`` (else 750).
    """

    yaml_implicit_resolvers = {  # noqa: RUF012
        first: [(tag, pattern) for tag, pattern in resolvers if not tag.endswith((":bool", ":int", ":float"))]
        for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen: dict[Any, int] = {}
        for key_node, _ in node.value:
            if key_node.tag == "tag:yaml.org,2002:merge":  # <<: *other, whose keys may be overridden
                continue
            key = self.construct_object(key_node, deep=True)
            line = key_node.start_mark.line + 1
            if isinstance(key, list | dict):
                raise ConfigurationError(f"line {line}: a key must be a name or a number, not {key!r}")
            if key in seen:
                raise ConfigurationError(
                    f"the key {key!r} is given twice in one mapping, at lines {seen[key]} and {line}: "
                    "rename or remove one"
                )
            seen[key] = line
        return super().construct_mapping(node, deep)


# Each pattern accepts only what PyYAML's own does, so that whatever PyYAML writes unquoted reads back.
_StrictLoader.add_implicit_resolver(
    "tag:yaml.org,2002:bool", re.compile(r"^(?:true|True|TRUE|false|False|FALSE)$"), list("tTfF")
)
_StrictLoader.add_implicit_resolver(
    "tag:yaml.org,2002:int", re.compile(r"^[-+]?(?:0|[1-9][0-9]*)$"), list("-+0123456789")
)
_StrictLoader.add_implicit_resolver(
    "tag:yaml.org,2002:float",
    re.compile(r"^(?:[-+]?[0-9]+\.[0-9]*(?:[eE][-+][0-9]+)?|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))$"),
    list("-+0123456789."),
)


def _parse_yaml(text: str) -> Any:
    try:
        return yaml.load(text, Loader=_StrictLoader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        where = f" at line {mark.line + 1}, column {mark.column + 1}" if mark else ""
        raise ConfigurationError(f"malformed YAML{where}: {error.problem or error.context}") from error
    except (yaml.YAMLError, ValueError, RecursionError) as error:  # ValueError: a date such as 2020-02-31
        raise ConfigurationError(f"malformed YAML: {error}") from error
