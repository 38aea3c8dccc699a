"""Awkward values of every kind, masks for them, and what a column of masked values holds."""

import datetime as dt
import math
from typing import Any

from hypothesis import strategies as st

from aegis_opt.domain import Domain
from aegis_opt.errors import MaskError
from aegis_opt.masks import (
    Blur,
    Bucketize,
    EraseDigits,
    Generalize,
    Identity,
    KeepTop,
    Mask,
    Microaggregate,
    PoolRare,
    Prefix,
    Suppress,
    TopCode,
    Truncate,
)

AWKWARD: dict[str, list[Any]] = {
    "integer": [-(2**53) - 1, -1000, -15, -10, -5, -1, 0, 3, 5, 7, 9, 10, 42, 90, 99, 12345, 2**53 + 1],
    "real": [
        -1e6,
        -12.5,
        -2.5,
        -0.3,
        0.0,
        0.1,
        0.3,
        0.1 + 0.2,
        0.5,
        2.5,
        5.0,
        7.000000000000001,
        90.0,
        1e5 / 3,
    ],
    "boolean": [False, True],
    "date": [
        dt.date(1899, 12, 31),
        dt.date(1950, 1, 1),
        dt.date(2000, 2, 29),
        dt.date(2020, 12, 31),
        dt.date(2021, 1, 3),
    ],
    "datetime": [
        dt.datetime(1949, 12, 31, 23, 59, 59, 999999),
        dt.datetime(1970, 1, 1),
        dt.datetime(1999, 1, 3, 0, 0, 0, 500000),
        dt.datetime(2020, 5, 6, 7),
        dt.datetime(2021, 1, 4, 12, 30),
    ],
    "string": ["", "a", "ab*", "it's", 'say "hi"', "a\\b", "日本語です", "🤦🏼‍♂️x", "é", " padded "],
}
RANDOM = {
    "integer": st.integers(-(2**63) + 5, 2**63 - 6) | st.integers(-2000, 2000),  # Blur stays within 64 bits
    "real": st.floats(-1e9, 1e9)
    | st.integers(-500, 500).map(lambda i: i / 10)
    | st.integers(-9, 9).map(float),
    "boolean": st.booleans(),
    "date": st.dates(dt.date(1, 1, 1), dt.date(9999, 12, 20)),
    "datetime": st.datetimes(dt.datetime(1900, 1, 1), dt.datetime(2100, 1, 1)),
    "string": st.text(st.characters(codec="utf-8", exclude_characters="\x00"), max_size=5),
}
NUMBERS = [
    *(Bucketize(width=w) for w in (1, 7, 10, 0.5, 0.1, 0.3, 2.5e-7)),
    Bucketize(width=10, origin=3),
    Bucketize(width=0.25, origin=-0.1),
    Bucketize(edges=[-10, 0, 2.5, 100]),
    Bucketize(edges=[-10, 0, 7]),
    *(Generalize(ranges=m) for m in (1, 2, 3, 40, 1000)),
    *(EraseDigits(d, keep_sign=sign) for d in (0, 1, 3, 25) for sign in (False, True)),
    *(Blur(w) for w in (1, 4, 5, 2.5, 0.1)),
    TopCode(90),
    TopCode(10, bottom=-3.5),
    TopCode(bottom=0),
    Microaggregate(2, edges=[-5, 6], centres=[-300, 0, 70]),
    Microaggregate(2, "median", edges=[-2.5, 0.1, 9], centres=[-10.25, -1, 4, 1e6]),
]
MOMENTS = [
    *(Truncate(unit) for unit in ("year", "quarter", "month", "week", "day")),
    *(Generalize(ranges=m) for m in (1, 2, 7, 50)),
    Bucketize(width=3000),
    Bucketize(width=dt.timedelta(days=700, hours=12), origin=dt.date(2000, 1, 1)),
    Bucketize(edges=["2000-01-01", dt.datetime(2020, 5, 6, 7)]),
    TopCode(dt.date(2000, 1, 1), bottom=dt.date(1950, 1, 1)),
    Microaggregate(
        3, edges=["1960-07-02"], centres=[dt.date(1950, 1, 1), dt.datetime(1999, 5, 6, 7, 8, 9, 5)]
    ),
]
ANY = [
    Suppress(),
    Identity(),
    KeepTop(
        20, values=["", "a", "it's", "a\\b", "日本語です", 0, 7, -15, 0.1, 2.5, "1950-01-01", "2020-05-06T07"]
    ),
    PoolRare(3, values=[]),
]
RULES = {
    "integer": [*ANY, *NUMBERS, Prefix(2)],
    "real": [*ANY, *NUMBERS],
    "boolean": ANY,
    "date": [*ANY, *MOMENTS],
    "datetime": [*ANY, *MOMENTS],
    "string": [*ANY, Prefix(1), Prefix(3)],
}


def lists(domain: Domain) -> list[Mask]:
    """Masks that list the values of a domain: few and many masked values, text and numbers."""
    values = [v.isoformat() if isinstance(v, dt.date) else v for v in domain.to_list()]
    present = [v for v in values if v is not None]
    found: list[Mask] = [Generalize({f"o'{i}": present[i::3] for i in range(3) if present[i::3]})]
    found.append(Generalize([[i, [value]] for i, value in enumerate(values)]))
    found.append(Generalize([[i + 0.5 if i else True, [value]] for i, value in enumerate(present)]))
    return found


def fits(mask: Mask, domain: Domain) -> bool:
    try:
        mask.group(domain)
    except MaskError:
        return False
    return True


def needs_a_domain(mask: Mask, kind: str) -> bool:
    """Whether knowing the kind of a column is not enough to write the mask in SQL."""
    if isinstance(mask, Bucketize) and mask.width is not None:
        return kind in ("date", "datetime") or mask.width == 2.5e-7
    return isinstance(mask, Generalize) and mask.ranges is not None


def fitting(domain: Domain, *, without_a_domain: bool = False) -> list[Mask]:
    """All masks that fit a domain."""
    masks = [mask for mask in [*RULES[domain.kind], *lists(domain)] if fits(mask, domain)]
    return [m for m in masks if not (without_a_domain and needs_a_domain(m, domain.kind))]


def assert_agree(found: list[object], labels: list[object], values: list[object], mask: Mask) -> None:
    wrong = [(v, f, e) for v, f, e in zip(values, found, labels, strict=True) if not agree(f, e)]
    assert not wrong, (mask, wrong)


def expected(mask: Mask, domain: Domain) -> list[object]:
    """What a column holds for each value of the domain: the masked value that `group` gives."""
    grouping = mask.group(domain)
    return [grouping.labels[g] for g in grouping.groups]


def agree(found: object, label: object) -> bool:
    """Whether what a column holds is the masked value.

    In a column of text a number may be written in any way that reads back as it; a value that stays what it
    is may be of its own type.
    """
    if found is None or (isinstance(found, float) and math.isnan(found)):
        return label is None
    if isinstance(found, dt.date):
        text = found.isoformat()
        return text.removesuffix("T00:00:00") == label
    if isinstance(found, str) and isinstance(label, bool):
        return found == str(label).lower()
    if isinstance(found, str) and isinstance(label, int | float):
        return float(found) == label if isinstance(label, float) else int(found) == label
    if isinstance(label, int) and not isinstance(label, bool) and isinstance(found, float):
        return found == float(label)
    return type(found) is type(label) and found == label


@st.composite
def domains(draw, kinds=tuple(RULES)):
    kind = draw(st.sampled_from(kinds))
    values = draw(st.lists(RANDOM[kind] | st.sampled_from(AWKWARD[kind]), min_size=1, max_size=30))
    return Domain.of([*values, *([None] if draw(st.booleans()) else [])])
