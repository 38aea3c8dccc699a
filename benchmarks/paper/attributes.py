"""Data sets for the research into distances: a few views of every attribute that is worth it."""

from __future__ import annotations

from dataclasses import replace

import pandas as pd

from aegis_opt.harness import Case, penalised
from aegis_opt.harness._truth import scan_case
from aegis_opt.masks import Configurations, Mask
from aegis_opt.summary import AttributeSummary
from benchmarks.paper.experiments.choices import restricted
from benchmarks.paper.families import KINDS, per_value

MOST_VIEWS = 5
FEWEST_VALUES = 3
FEWEST_PER_VALUE = 5

NOMINAL = {
    "hotel": (
        *("site_name", "posa_continent", "user_location_country", "user_location_region"),
        *("user_location_city", "user_id", "is_mobile", "is_package", "channel", "srch_destination_id"),
        *("srch_destination_type_id", "hotel_continent", "hotel_country", "hotel_market", "hotel_cluster"),
    ),
    "income": (
        *("workclass", "education", "marital_status", "occupation", "relationship", "race", "sex"),
        "native_country",
    ),
}
"""Codes of data sets that write categories as numbers; other data sets say so in their configurations."""


def with_few_views(case: Case) -> tuple[Case | None, pd.DataFrame]:
    """Return a data set with the first distinct views of every attribute, and what is known of these.

    Views that leave an attribute unmasked, or suppress it, are not among them. Attributes with nearly unique
    values, with fewer than three values, or without such a view are left out.

    Returns
    -------
    case : Case, optional
        At most `MOST_VIEWS` configurations; None where no attribute is left.
    attributes : DataFrame
        dataset, attribute, kind, per_value, views, left_out (why, or nothing).
    """
    case = restricted(case, None)
    configurations = case.configurations
    assert isinstance(configurations, Configurations)
    order = {**dict.fromkeys(NOMINAL.get(case.name, ()), "nominal"), **configurations.order}
    summary = scan_case(case).summary
    views: dict[str, list[Mask]] = {}
    rows = []
    for name, attribute in summary.attributes.items():
        masked_by = {tables[name]: key for key, tables in reversed(list(summary.configurations.items()))}
        masks = [configurations[masked_by[table]][name] for table in _views(attribute)]
        why = _left_out(summary.n_records, attribute.n_values, len(masks))
        if not why:
            views[name] = masks
        nominal = order.get(name, attribute.order) == "nominal"
        size = per_value(summary.n_records, attribute.n_values)
        rows.append((case.name, name, KINDS[nominal], size, len(masks), why))
    masked = {
        f"view{i + 1}": {name: masks[i % len(masks)] for name, masks in views.items()}
        for i in range(max(map(len, views.values()), default=0))
    }
    table = pd.DataFrame(rows, columns=["dataset", "attribute", "kind", "per_value", "views", "left_out"])
    if not masked:
        return None, table
    kept = {name: rule for name, rule in order.items() if name in views}
    return replace(case, configurations=Configurations(masked, case.label, kept)), table


def _views(attribute: AttributeSummary) -> list[int]:
    """List the first masked tables that differ, and neither keep every value apart nor merge all."""
    found: dict[bytes, int] = {}
    for i, table in enumerate(attribute.tables):
        if 1 < table.n_groups < attribute.n_values:
            found.setdefault(table.groups.tobytes(), i)
    return list(found.values())[:MOST_VIEWS]


def _left_out(records: int, values: int, views: int) -> str:
    if values < FEWEST_VALUES:
        return f"fewer than {FEWEST_VALUES} values"
    if records < FEWEST_PER_VALUE * values:
        return f"fewer than {FEWEST_PER_VALUE} records per value"
    return "" if views else "no view with some values merged"


def distances_of_views(reconstructions: pd.DataFrame, attributes: pd.DataFrame) -> pd.DataFrame:
    """Give each attribute its mean TVD per variant and scope; equal views count once, a failure counts 1.

    The columns `tables` and `failed` count.
    """
    keys = ["dataset", "attribute", "variant", "scope"]
    tables = reconstructions.assign(
        tvd=penalised(reconstructions, None)["tvd"], failed=reconstructions["tvd"].isna()
    )
    groups = tables.drop_duplicates([*keys, "table"]).groupby(keys)
    found = groups.agg(tvd=("tvd", "mean"), tables=("tvd", "size"), failed=("failed", "sum")).reset_index()
    return attributes[attributes["left_out"] == ""].drop(columns="left_out").merge(found, on=keys[:2])
