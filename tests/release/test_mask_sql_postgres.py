"""The SQL for PostgreSQL, run by a real server that the tests start in a folder of their own."""

import glob
import os
import pwd
import shutil
import subprocess
import tempfile
from pathlib import Path

import pandas as pd
import psycopg
import pytest
from programs import skip_or_fail
from release_zoo import AWKWARD, RULES, assert_agree, expected, fitting

from aegis_opt.domain import Domain
from aegis_opt.masks import Configuration, Prefix, RandomizedResponse
from aegis_opt.release import apply_configuration

TYPES = {
    "integer": "bigint",
    "real": "double precision",
    "boolean": "boolean",
    "date": "date",
    "datetime": "timestamp",
    "string": "text",
}


def programs() -> Path:
    """Find the folder of initdb and pg_ctl: Debian keeps them off the PATH."""
    found = shutil.which("pg_ctl")
    folders = [os.path.dirname(found)] if found else sorted(glob.glob("/usr/lib/postgresql/*/bin"))
    if not folders:
        skip_or_fail("PostgreSQL is not installed (Debian: apt-get install postgresql)")
    return Path(folders[-1])


@pytest.fixture(scope="module")
def connection():
    """Start a server, as a user who is not root (it refuses root), and stop it whatever happens."""
    folder = programs()
    user = pwd.getpwnam("nobody") if os.geteuid() == 0 else None
    as_user = {} if user is None else {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}
    with tempfile.TemporaryDirectory(prefix="postgres-") as home:
        if user is not None:
            os.chown(home, user.pw_uid, user.pw_gid)

        def run(*command: str) -> None:
            environment = {"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8", "HOME": home}
            done = subprocess.run(
                command, cwd=home, env=environment, capture_output=True, text=True, **as_user
            )
            assert done.returncode == 0, done.stdout + done.stderr

        data = f"{home}/data"
        run(str(folder / "initdb"), "-D", data, "-U", "tester", "-A", "trust", "-E", "UTF8", "--no-sync")
        # No port of the machine, which another program might take: only a socket in the folder
        options = f"-F -c listen_addresses='' -c unix_socket_directories={home}"
        control = str(folder / "pg_ctl")
        run(control, "-D", data, "-w", "-l", f"{home}/log", "-o", options, "start")
        try:
            with psycopg.connect(
                host=home,
                user="tester",
                dbname="postgres",
                autocommit=True,
                prepare_threshold=None,
            ) as opened:
                yield opened
        finally:
            run(control, "-D", data, "-m", "immediate", "-w", "stop")


def store(connection, domain: Domain) -> list[object]:
    values = [*domain.to_list(), *([float("nan")] if domain.kind == "real" else [])]
    connection.execute("DROP TABLE IF EXISTS people")
    connection.execute(f'CREATE TABLE people ("Place" integer, "my x" {TYPES[domain.kind]})')
    with connection.cursor() as cursor:
        cursor.executemany("INSERT INTO people VALUES (%s, %s)", list(enumerate(values)))
    return values


@pytest.mark.parametrize("known", ["domain", "kind"])
@pytest.mark.parametrize("kind", RULES)
def test_postgresql_masks_as_the_masks_do(connection, kind, known):
    domain = Domain.of([*AWKWARD[kind], None])
    values = store(connection, domain)
    for mask in fitting(domain, without_a_domain=known == "kind"):
        sql = Configuration({"my x": mask}).to_sql(
            "postgresql", "people", ["Place", "my x"], {"my x": domain if known == "domain" else kind}
        )
        found = [masked for _, masked in sorted(connection.execute(sql).fetchall())]
        labels = expected(mask, domain)
        assert_agree(found, [*labels, *labels[-1:] * (len(values) - len(labels))], values, mask)


def test_postgresql_suppresses_the_same_records(connection):
    values = ["ab", "ac", "b", "b", "b", None, None, "abd", "c"]
    connection.execute("DROP TABLE IF EXISTS people")
    connection.execute('CREATE TABLE people ("Place" integer, "my x" text, y integer)')
    rows = [(i, value, i % 2) for i, value in enumerate(values)]
    with connection.cursor() as cursor:
        cursor.executemany("INSERT INTO people VALUES (%s, %s, %s)", rows)
    masks = Configuration({"my x": Prefix(1)})
    frame = pd.DataFrame(rows, columns=["Place", "my x", "y"])
    for asked in (None, ["my x", "y"]):
        sql = masks.to_sql(
            "postgresql", "people", list(frame), {"my x": "string"}, suppress_below=2, quasi_identifiers=asked
        )
        masked = apply_configuration(frame, masks, suppress_below=2, quasi_identifiers=asked)
        assert 0 < len(masked) < len(frame)
        left = masked.astype(object).where(masked.notna(), None).itertuples(index=False, name=None)
        assert sorted(connection.execute(sql).fetchall()) == list(left)


def test_postgresql_draws_noise_with_the_distribution_of_the_channel(connection):
    """One number per record, though it is compared several times: within 5 standard deviations."""
    mask = RandomizedResponse(p=0.7, domain=["a", "b", "c"])
    connection.execute("CREATE TEMP TABLE noisy AS SELECT 'a' AS x FROM generate_series(1, 20000)")
    sql = Configuration({"x": mask}).to_sql("postgresql", "noisy")
    counts = dict(connection.execute(f"SELECT x, count(*) FROM ({sql}) AS m GROUP BY x").fetchall())
    for value, p in zip("abc", (0.7, 0.15, 0.15), strict=True):
        assert abs(counts[value] - 20_000 * p) < 5 * (20_000 * p * (1 - p)) ** 0.5
