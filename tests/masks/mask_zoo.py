"""Random domains of every kind, and masks that fit each."""

import datetime as dt

from hypothesis import strategies as st

from aegis_opt.domain import Domain
from aegis_opt.masks import (
    Blur,
    Bucketize,
    EraseDigits,
    Generalize,
    Identity,
    KeepTop,
    Microaggregate,
    PoolRare,
    Prefix,
    Suppress,
    TopCode,
    Truncate,
)

VALUES = {
    "integer": st.integers(-(2**63), 2**63 - 1) | st.integers(-2000, 2000),
    "real": st.floats(-1e6, 1e6) | st.integers(-50, 50).map(lambda i: i / 10),
    "boolean": st.booleans(),
    "date": st.dates(dt.date(1900, 1, 1), dt.date(2100, 1, 1)),
    "datetime": st.datetimes(dt.datetime(1900, 1, 1), dt.datetime(2100, 1, 1)),
    "string": st.text(alphabet="ab1*", max_size=5),
}
ANY = [
    Suppress(),
    Identity(),
    KeepTop(9, values=["a", "ab1", 1, 0.5, -3]),
    PoolRare(2, values=[]),
]
NUMBERS = [
    *(Bucketize(width=w) for w in (1, 7, 0.5)),
    Bucketize(width=10, origin=3),
    Bucketize(edges=[-10, 0, 2.5, 100]),
    *(Generalize(ranges=m) for m in (1, 2, 3, 10, 1000)),
    *(EraseDigits(d, keep_sign=sign) for d in (0, 1, 3, 25) for sign in (False, True)),
    *(Blur(w) for w in (1, 4, 5, 2.5)),
    TopCode(90),
    TopCode(10, bottom=-3.5),
    TopCode(bottom=0),
    Microaggregate(2, edges=[-5, 6], centres=[-300, 0, 70]),
    Microaggregate(2, "median", edges=[-2.5, 0.1, 9], centres=[-10.25, -1, 4, 1e6]),
]
MOMENTS = [
    *(Truncate(unit) for unit in ("year", "quarter", "month", "week", "day")),
    *(Generalize(ranges=m) for m in (1, 2, 7)),
    Bucketize(width=30),
    Bucketize(width=dt.timedelta(days=2, hours=12), origin=dt.date(2000, 1, 1)),
    Bucketize(edges=["2000-01-01", dt.datetime(2020, 5, 6, 7)]),
    TopCode(dt.date(2000, 1, 1), bottom=dt.date(1950, 1, 1)),
    Microaggregate(
        3, edges=["1960-07-02"], centres=[dt.date(1950, 1, 1), dt.datetime(1999, 5, 6, 7, 8, 9, 5)]
    ),
]
FITTING = {
    "integer": [*ANY, *(m for m in NUMBERS if m not in (Bucketize(width=0.5), Blur(2.5))), Prefix(2)],
    "real": [*ANY, *NUMBERS],
    "boolean": [*ANY, Generalize({"either": [True, False]})],
    "date": [*ANY, *MOMENTS],
    "datetime": [*ANY, *MOMENTS],
    "string": [*ANY, Prefix(1), Prefix(3)],
}
EVERY_MASK = list(dict.fromkeys(mask for masks in FITTING.values() for mask in masks))


@st.composite
def domain_and_mask(draw):
    kind = draw(st.sampled_from(sorted(VALUES)))
    values = draw(st.lists(VALUES[kind], min_size=1, max_size=30))
    missing = draw(st.booleans())
    return Domain.of([*values, *([None] if missing else [])]), draw(st.sampled_from(FITTING[kind]))
