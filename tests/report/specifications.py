"""What is in a chart, and what a page would fetch."""

import re
from collections.abc import Iterator
from html.parser import HTMLParser
from typing import Any

import altair as alt


def layers_of(chart: alt.LayerChart) -> Iterator[tuple[dict[str, Any], list[dict[str, Any]]]]:
    """Each layer of a chart with its rows, which altair keeps beside the layers."""
    found = chart.to_dict()
    for layer in found["layer"]:
        data = layer.get("data") or found["data"]
        yield layer, data["values"] if "values" in data else found["datasets"][data["name"]]


class _Addresses(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        kinds = ("src", "srcset", "href", "poster", "data", "action", "background")
        self.found += [f"{tag} {value}" for name, value in attrs if name in kinds and value]


def fetched_by(page: str) -> list[str]:
    """All that the tags of a page, or its style, would fetch; what scripts may do is up to its policy."""
    parser = _Addresses()
    parser.feed(page)
    styles = re.findall(r"<style>(.*?)</style>", page, re.DOTALL)
    imports = [part for style in styles for part in re.findall(r"url\(|@import", style)]
    return [item for item in parser.found if not re.match(r"\w+ (?:#|data:)", item)] + imports
