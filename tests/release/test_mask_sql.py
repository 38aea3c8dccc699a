"""Masking in SQL and the groups that the advisor works with agree on every value."""

from collections.abc import Iterable

import duckdb
import numpy as np
import pytest
import sqlglot
from hypothesis import given, settings
from hypothesis import strategies as st
from release_zoo import AWKWARD, RULES, assert_agree, domains, expected, fits, fitting, needs_a_domain

import aegis_opt as ao
from aegis_opt.domain import Domain
from aegis_opt.masks import (
    Blur,
    Bucketize,
    Configuration,
    Generalize,
    KeepTop,
    Mask,
    Prefix,
    Suppress,
    TopCode,
    Truncate,
)
from aegis_opt.release import DIALECTS, select_sql

TYPES = {
    "integer": "BIGINT",
    "real": "DOUBLE",
    "boolean": "BOOLEAN",
    "date": "DATE",
    "datetime": "TIMESTAMP",
    "string": "VARCHAR",
}


@pytest.fixture(scope="module")
def connection():
    with duckdb.connect() as opened:
        yield opened


def store(connection, domain: Domain, extra: Iterable[object] = ()) -> list[object]:
    """Make a table of the values, with NaN beside NULL where a real is missing."""
    values = [*domain.to_list(), *extra]
    connection.execute(f"CREATE OR REPLACE TABLE source (place INTEGER, x {TYPES[domain.kind]})")
    rows = ", ".join(["(?, ?)"] * len(values))
    connection.execute(f"INSERT INTO source VALUES {rows}", [v for row in enumerate(values) for v in row])
    return values


def run(connection, mask: Mask, known: object) -> list[object]:
    sql = select_sql(Configuration({"x": mask}), "duckdb", "source", ["place", "x"], {"x": known})
    return [found for _, found in sorted(connection.execute(sql).fetchall(), key=lambda row: row[0])]


@settings(max_examples=60, deadline=None)
@given(domains(), st.data())
def test_every_mask_gives_in_sql_what_it_gives_in_python(connection, domain, data):
    mask = data.draw(st.sampled_from(fitting(domain)))
    extra = [float("nan")] if domain.kind == "real" and domain.missing else []
    values = store(connection, domain, extra)
    labels = expected(mask, domain)
    assert_agree(run(connection, mask, domain), [*labels, *labels[-1:] * len(extra)], values, mask)


@pytest.mark.parametrize("kind", RULES)
def test_every_mask_on_the_awkward_values(connection, kind):
    domain = Domain.of([*AWKWARD[kind], None])
    values = store(connection, domain)
    masks = fitting(domain)
    assert len(masks) >= 0.8 * len(RULES[kind])
    for mask in masks:
        assert_agree(run(connection, mask, domain), expected(mask, domain), values, mask)


@pytest.mark.parametrize("kind", RULES)
def test_knowing_the_kind_is_enough_for_rules_and_lists(connection, kind):
    domain = Domain.of([*AWKWARD[kind], None])
    values = store(connection, domain)
    written = 0
    for mask in fitting(domain):
        if needs_a_domain(mask, kind):
            with pytest.raises(ao.errors.InvalidOption, match=r"domains=\{'x'"):
                run(connection, mask, kind)
            continue
        written += 1
        assert_agree(run(connection, mask, kind), expected(mask, domain), values, mask)
    assert written >= 5


def test_rules_hold_for_values_that_were_never_seen(connection):
    seen, unseen = Domain.of([10, 21, 40]), Domain.of([-3, 10, 11, 26, 40, 1000])
    for mask in (Bucketize(width=10), Prefix(1), TopCode(30)):
        values = store(connection, unseen)
        assert_agree(run(connection, mask, seen), expected(mask, unseen), values, mask)
    store(connection, unseen)  # the ranges are those of the seen values; one beyond them is in the nearest
    assert run(connection, Generalize(ranges=2), seen) == [
        *("[10, 25]", "[10, 25]", "[10, 25]", "[26, 41]", "[26, 41]", "[26, 41]")
    ]
    mapped = Generalize({"low": [10, 21], "high": [40]})
    assert run(connection, mapped, seen) == [None, "low", None, None, "high", None]


@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_dialect_can_be_parsed_back(dialect):
    masks = {f"{kind} {i}": mask for kind in RULES for i, mask in enumerate(RULES[kind])}
    known = {f"{kind} {i}": Domain.of(AWKWARD[kind]) for kind in RULES for i in range(len(RULES[kind]))}
    long = Generalize(ranges=1000)  # sqlglot takes seconds for it, and fewer ranges are written alike
    fitting = {name: mask for name, mask in masks.items() if fits(mask, known[name]) and mask != long}
    assert 0 < sum(mask == long for mask in masks.values()) < 4
    many = Generalize({f"group {i}": [f"it's \\{i}"] for i in range(30)})
    configuration = Configuration({**fitting, "many": many})
    sql = configuration.to_sql(dialect, "a.people", ["id", *configuration], {**known, "many": "string"})
    parsed = sqlglot.parse_one(sql, read=DIALECTS[dialect])
    assert isinstance(parsed, sqlglot.exp.Select)
    assert parsed.named_selects == ["id", *configuration]


def test_whatever_is_given_as_a_table_stays_a_name():
    sql = Configuration({"age": Suppress()}).to_sql(table="people; DROP TABLE people")
    assert sql.endswith('FROM "people; DROP TABLE people"')
    assert Configuration({"age": Suppress()}).to_sql("spark", "{source}").endswith("FROM {source}")
    assert Configuration({"age": Suppress()}).to_sql("postgresql", "{source}").endswith('FROM "{source}"')
    with pytest.raises(ao.errors.InvalidOption, match="names no table in spark"):
        Configuration({"age": Suppress()}).to_sql("spark", "read('x')")


def test_a_column_that_is_called_like_the_lookup_is_not_mixed_up(connection):
    connection.execute("CREATE OR REPLACE TABLE source AS SELECT i AS v, i + 1 AS l FROM range(20) AS r(i)")
    mask = Generalize({f"g{i}": [i] for i in range(20)})
    sql = Configuration({"v": mask}).to_sql(table="source", columns=["l", "v"], domains={"v": "integer"})
    assert "JOIN" in sql
    assert sorted(connection.execute(sql).fetchall()) == sorted((i + 1, f"g{i}") for i in range(20))


def test_missing_values_follow_the_mapping_where_they_are_looked_up(connection):
    domain = Domain.of([*range(20), None])
    values = store(connection, domain)
    for mask in (
        Generalize([[f"g{i}", [i]] for i in range(20)]),
        Generalize([["none", [None]], *([f"g{i}", [i]] for i in range(20))]),
    ):
        assert_agree(run(connection, mask, domain), expected(mask, domain), values, mask)


@pytest.mark.parametrize(
    ("arguments", "error", "text"),
    [
        ({"dialect": "oracle"}, ao.errors.UnknownName, "unknown SQL dialect 'oracle'"),
        ({"columns": ["zip"]}, ao.errors.UnknownColumn, "'age'"),
        ({"domains": {"age": "number"}}, ao.errors.InvalidOption, "'number' is neither a domain nor a kind"),
        ({"domains": {"age": "string"}}, ao.errors.MaskError, "attribute 'age'"),
        ({"domains": {"age": "date"}}, ao.errors.InvalidOption, "domains={'age': Domain.of(values)}"),
        ({"columns": "age"}, ao.errors.InvalidOption, "write ['age'], not 'age'"),
        ({"columns": ["age", 1]}, ao.errors.InvalidOption, "1 is none"),
        ({"columns": ["age", "age"]}, ao.errors.InvalidOption, "names 'age' twice"),
        *(
            (
                {"table": table, "domains": {"age": "integer"}},
                ao.errors.InvalidOption,
                f"{table!r} names no table",
            )
            for table in ("", None, 'peo"ple')
        ),
    ],
)
def test_wrong_requests_are_named(arguments, error, text):
    with pytest.raises(error) as raised:
        Configuration({"age": Bucketize(width=10)}).to_sql(**arguments)
    assert text in str(raised.value)


def test_errors_name_the_configuration_that_is_to_be_written():
    with pytest.raises(ao.errors.UnknownColumn, match="The configuration 'strict' masks it"):
        Configuration({"age": Suppress()}, name="strict").to_sql(columns=["zip"])
    with pytest.raises(ao.errors.ConfigurationError, match="the configuration 'empty' masks nothing"):
        Configuration({}, name="empty").to_sql()


def test_ranges_need_to_know_the_column():
    with pytest.raises(
        ao.errors.InvalidOption, match=r"attribute 'age': how .* pass its domain.*source_domains"
    ):
        Configuration({"age": Generalize(ranges=3)}).to_sql("spark")


@pytest.mark.parametrize("kind", RULES)
def test_a_mask_alone_says_enough_about_most_columns(connection, kind):
    """Numbers beyond 2^53 aside, and those that must be told from their text alone."""
    domain = Domain.of([v for v in AWKWARD[kind] if kind != "integer" or abs(v) < 2**53])
    values = store(connection, domain)
    checked = 0
    for mask in fitting(domain, without_a_domain=True):
        if kind == "integer" and isinstance(mask, Prefix):
            continue
        if isinstance(mask, KeepTop):  # the one here lists values of several kinds
            with pytest.raises(ao.errors.InvalidOption, match=r"domains=\{'x'"):
                run(connection, mask, None)
            continue
        assert_agree(run(connection, mask, None), expected(mask, domain), values, mask)
        checked += 1
    assert checked >= 2


def test_a_value_that_no_mask_can_show_is_an_error_or_null(connection):
    huge = Domain.of([1.0, 1e300])
    with pytest.raises(ao.errors.MaskError, match="attribute 'x'"):
        run(connection, Bucketize(width=0.5), huge)
    store(connection, huge)
    assert run(connection, Bucketize(width=0.5), "real") == ["[1, 1.5)", None]


def test_the_ends_of_64_bits(connection):
    domain = Domain.of([-(2**63), 2**63 - 1])
    values = store(connection, domain)
    for mask in (m for m in fitting(domain) if m not in (Blur(4), Blur(5))):
        assert_agree(run(connection, mask, domain), expected(mask, domain), values, mask)
    with pytest.raises(ao.errors.MaskError, match=r"attribute 'x': .* rounds beyond 64 bits"):
        run(connection, Blur(4), domain)


def test_masked_values_that_would_merge_as_text_are_refused():
    mask = Generalize([[1, [10]], ["1", [20]]])
    with pytest.raises(ao.errors.MaskError, match="attribute 'x': the masked values 1 and '1'"):
        Configuration({"x": mask}).to_sql(domains={"x": "integer"})


def test_years_that_engines_write_differently_are_refused():
    ancient = Domain("date", np.array(["-0043-03-15", "2000-01-01"], dtype="datetime64[D]"))
    with pytest.raises(ao.errors.MaskError, match="years 1 to 9999"):
        Configuration({"x": Truncate("year")}).to_sql(domains={"x": ancient})
