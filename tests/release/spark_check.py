"""The SQL for Spark, checked on a session that the caller has; also the tests of the cluster call it."""

from __future__ import annotations

from typing import Any

from release_zoo import AWKWARD, RULES, assert_agree, expected, fitting

from aegis_opt.domain import Domain
from aegis_opt.masks import Configuration, Mask

TYPES = {
    "integer": "BIGINT",
    "real": "DOUBLE",
    "boolean": "BOOLEAN",
    "date": "DATE",
    "datetime": "TIMESTAMP_NTZ",
    "string": "STRING",
}


def check_on_spark(session: Any) -> int:
    """Mask the awkward values of every kind with every mask; return how many masks agreed.

    Spark evaluates the expressions as they are: to compile them for some twenty values takes much longer.
    """
    session.conf.set("spark.sql.codegen.wholeStage", "false")
    session.conf.set("spark.sql.codegen.factoryMode", "NO_CODEGEN")
    try:
        return _check_all(session)
    finally:
        session.conf.unset("spark.sql.codegen.wholeStage")
        session.conf.unset("spark.sql.codegen.factoryMode")


def _check_all(session: Any) -> int:
    checked = 0
    for kind in RULES:
        domain = Domain.of([*AWKWARD[kind], None])
        values = [*domain.to_list(), *([float("nan")] if kind == "real" else [])]
        frame = session.createDataFrame(list(enumerate(values)), f"place INT, `my x` {TYPES[kind]}")
        for known in (domain, kind):
            masks = fitting(domain, without_a_domain=known is kind)
            for first in range(0, len(masks), 6):  # a job has a cost of its own, a long query another
                _check(session, frame, masks[first : first + 6], known, domain, values)
            checked += len(masks)
    return checked


def _check(
    session: Any, frame: Any, masks: list[Mask], known: Domain | str, domain: Domain, values: list[object]
) -> None:
    columns = [f"x{i}" for i in range(len(masks))]
    wide = frame.selectExpr("place", *(f"`my x` AS {column}" for column in columns))
    configuration = Configuration(dict(zip(columns, masks, strict=True)))
    sql = configuration.to_sql("spark", "{people}", ["place", *columns], dict.fromkeys(columns, known))
    rows = sorted(session.sql(sql, people=wide).collect(), key=lambda row: row[0])
    for i, mask in enumerate(masks):
        labels = expected(mask, domain)
        labels += labels[-1:] * (len(values) - len(labels))
        assert_agree([row[i + 1] for row in rows], labels, values, mask)
