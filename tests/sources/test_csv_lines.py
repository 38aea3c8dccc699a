"""CSV files whose lines, quotes or headers are odd: read as they are or refused, never an empty table."""

import csv
import gzip
import random
import time

import pytest

from aegis_opt.errors import SourceError
from aegis_opt.masks import Suppress
from aegis_opt.release import apply_configuration
from aegis_opt.sources import _csv_header, columns, scan

MARK = b"\xef\xbb\xbf"


@pytest.mark.parametrize("inside", ["\n", "\r\n", "\r", "\n\n"])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("ending", ["csv", "csv.gz"])
def test_a_line_break_in_a_name_may_be_of_another_style_than_the_rows(tmp_path, inside, end, ending):
    """DuckDB alone took the one in the name for the end of lines, and read no record."""
    path = tmp_path / f"people.{ending}"
    content = end.join([f'"Age{inside}(years)",y', "1,a", "2,b", "3,a", ""]).encode()
    path.write_bytes(gzip.compress(content) if ending == "csv.gz" else content)
    name = f"Age{inside}(years)"
    assert columns(path) == (name, "y")
    assert scan(path, "y").attributes[name].table.tolist() == [[1, 0], [0, 1], [1, 0]]
    assert apply_configuration(path, {"y": Suppress()})[name].tolist() == [1, 2, 3]


def test_files_whose_lines_end_differently_are_read_together(tmp_path):
    (tmp_path / "a.csv").write_bytes(b"x,y\r\n1,a\r\n2,b\r\n")
    (tmp_path / "b.csv").write_bytes(b"x,y\n3,a\n")
    (tmp_path / "c.csv").write_bytes(b"x,y\r4,b\r")
    assert apply_configuration(tmp_path / "*.csv", {"y": Suppress()})["x"].tolist() == [1, 2, 3, 4]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (MARK + b'"Age\n(years)",y\n1,a\n2,b\n', r"byte order mark and a name with a line break, 'Age"),
        (b'"x,y\n1,a\n2,b\n', "unexpected end of data.*quotes are closed"),
        (b"\nx,y\n1,a\n2,b\n", "begins with an empty line"),
        (b"", "is empty"),
        (b"sep=;\nx;y\n1;a\n2;b\n", r"the first line, 'sep=;', is no header: remove it"),
        (b"x,y\r\n1,a\n2,b\n", "lines end alike"),
        (b"x,y\r1,a\n2,b\n", "lines end alike"),
        (b"x,y\n1,a\r2,b\n", "lines end alike"),
    ],
)
def test_what_cannot_be_read_is_refused_when_counted_and_when_masked(tmp_path, content, message):
    path = tmp_path / "people.csv"
    path.write_bytes(content)
    with pytest.raises(SourceError, match=rf"(?s)people\.csv.*{message}"):
        scan(path, "y")
    with pytest.raises(SourceError, match=r"people\.csv"):
        apply_configuration(path, {"y": Suppress()})


def test_a_file_of_which_no_record_is_read_is_refused(tmp_path, monkeypatch):
    """Whatever else makes DuckDB skip all records: here it is told a wrong end of lines."""
    monkeypatch.setattr("aegis_opt.sources._csv_files._WRITTEN", {"\n": "\\r", "\r\n": "\\r\\n", "\r": "\\r"})
    (tmp_path / "people.csv").write_bytes(b'"x\n",y\n1,a\n2,b\n')
    with pytest.raises(SourceError, match=r"people\.csv: no record could be read, though there is text"):
        apply_configuration(tmp_path / "people.csv", {"y": Suppress()})
    (tmp_path / "people.csv").write_bytes(b"x,y\n\n")
    assert len(apply_configuration(tmp_path / "people.csv", {"y": Suppress()})) == 0


def test_a_mark_before_a_quoted_name_is_no_part_of_it(tmp_path):
    (tmp_path / "people.csv").write_bytes(MARK + b'"x","y\nz"\n1,a\n2,b\n')
    assert columns(tmp_path / "people.csv") == ("x", "y\nz")
    assert scan(tmp_path / "people.csv", "y\nz").n_records == 2


@pytest.mark.parametrize("content", ["a" * 100, '"' + "a\n" * 50 + '",y\n1,2\n', "a,b" * 100], ids=range(3))
@pytest.mark.parametrize("ending", ["csv", "csv.gz"])
def test_a_header_is_read_up_to_a_limit(tmp_path, monkeypatch, content, ending):
    """A packed file of some megabytes can hold a line of gigabytes."""
    monkeypatch.setattr(_csv_header, "MOST_CHARACTERS", 99)
    path = tmp_path / f"people.{ending}"
    path.write_bytes(gzip.compress(content.encode()) if ending == "csv.gz" else content.encode())
    with pytest.raises(SourceError, match="its header has more than 99 characters"):
        columns(path)


def test_what_follows_a_header_is_looked_at_in_pieces(tmp_path, monkeypatch):
    monkeypatch.setattr(_csv_header, "_PIECE", 3)
    path = tmp_path / "people.csv"
    for below, more in (("", False), ("\n \r\n\n   ", False), ("\n\n       x\n", True)):
        path.write_text("x,y\n" + below)
        assert _csv_header.CsvHeader.of(str(path)).has_more(str(path)) is more


def test_a_header_of_too_many_columns_is_refused_before_the_engine_takes_memory(tmp_path):
    path = tmp_path / "people.csv"
    path.write_text(",".join(f"{i:x}" for i in range(100_001)) + "\n1\n")
    with pytest.raises(SourceError, match="has 100,001 columns; of a CSV file at most 100,000 are read"):
        columns(path)


def test_a_damaged_packed_file_is_refused_wherever_the_damage_is(tmp_path):
    """DuckDB alone compares no checksum: a changed bit gave other values, without a word."""
    path = tmp_path / "people.csv.gz"
    rows = "".join(f"{i % 97},{'ab'[i % 2]}\n" for i in range(300))
    for level in (0, 9):
        whole = gzip.compress(f"age,y\n{rows}".encode(), compresslevel=level, mtime=0)
        for place in range(10, len(whole), len(whole) // 40):
            damaged = bytearray(whole)
            damaged[place] ^= 4
            path.write_bytes(damaged)
            for read in (columns, lambda source: scan(source, "y")):
                with pytest.raises(SourceError, match=r"people\.csv\.gz"):
                    read(path)
            with pytest.raises(SourceError, match=r"people\.csv\.gz"):
                apply_configuration(path, {"age": Suppress()})


def test_a_packed_file_of_several_members_is_read_whole(tmp_path):
    path = tmp_path / "people.csv.gz"
    path.write_bytes(b"".join(map(gzip.compress, (b"x,y\n", b"1,a\n2", b"", b",b\n"))))
    assert apply_configuration(path, {"y": Suppress()})["x"].tolist() == [1, 2]


NOTE = "a,1\nb,0\n" * 5000 + "c"  # a field whose lines look like records


def test_a_large_file_of_quoted_line_breaks_is_read(tmp_path):
    """A thread of DuckDB that begins within such a field reads its lines as records: the file was refused."""
    path = tmp_path / "people.csv"
    path.write_text("x,y\n" + f'"{NOTE}",1\nd,0\n' * 300)
    counts = scan(path, "y").attributes["x"]
    assert counts.domain.to_list() == [NOTE, "d"]
    assert counts.table.tolist() == [[0, 300], [300, 0]]
    assert apply_configuration(path, {"y": Suppress()})["x"].tolist() == [NOTE, "d"] * 300


@pytest.mark.parametrize("end", ['3,"0\n', '3,0\n"', '"\n2,1\n', "3\n", "3,1,2\n"])
@pytest.mark.parametrize("records", ["1,0\n", f'"{NOTE}",1\n' * 300], ids=["small", "large"])
def test_one_thread_loses_no_record_of_a_file_with_a_quote_that_is_not_closed(tmp_path, records, end):
    path = tmp_path / "people.csv"
    path.write_text("x,y\n" + records + end)
    with pytest.raises(SourceError, match=r"people\.csv"):
        scan(path, "y")
    with pytest.raises(SourceError, match=r"people\.csv"):
        apply_configuration(path, {"y": Suppress()})


def test_records_are_counted_as_the_csv_module_counts_them(tmp_path, monkeypatch):
    """Whatever is quoted, however lines end, and wherever a piece of the file does."""
    rng = random.Random(0)
    path = tmp_path / "people.csv"
    counted = refused = 0
    for _ in range(600):
        monkeypatch.setattr(_csv_header, "_PIECE", rng.choice((4, 5, 7, 64)))
        names, end = ["x", "y"][: rng.choice((1, 2))], rng.choice(("\n", "\r", "\r\n"))
        fields = ["", "1", "é", '"a\nb"', '"a\r"', '"\r\n"', '"a""b"', '""', '","', '"a', 'a"b', '"a"b']
        rows = [rng.choices(fields, [4] * 9 + [1] * 3, k=len(names)) for _ in range(rng.randrange(6))]
        text = "".join(",".join(row) + end * rng.choice((1, 1, 1, 2)) for row in [names, *rows])
        path.write_bytes((rng.choice(("", "\ufeff")) + text).encode())
        with path.open(encoding="utf-8-sig", newline="") as file:
            try:
                expected = sum(bool(row) or len(names) == 1 for row in csv.reader(file, strict=True)) - 1
            except csv.Error:
                expected = None
        found = _csv_header.CsvHeader(names, ",", end, 1).n_records(str(path))
        assert found is None or found == expected
        assert found is not None or expected is None or 'a"b' in text.replace('"a""b"', "")
        counted, refused = counted + (found is not None), refused + (found is None)
    assert min(counted, refused) > 100


def test_a_large_file_of_long_texts_is_read(tmp_path):
    """The csv module takes no field of more than 131,072 characters, and DuckDB's threads had refused it."""
    path = tmp_path / "people.csv"
    long = "a,1\nb,0\n" * 17_500
    path.write_text("x,y\n" + f'"{long}",1\nd,0\n' * 100)
    assert scan(path, "y").attributes["x"].domain.to_list() == [long, "d"]


def test_a_quote_that_is_not_closed_is_told_in_a_large_file_too(tmp_path):
    path = tmp_path / "people.csv"
    path.write_text("x,y\n" + f'"{NOTE}",1\n' * 300 + '"3,0\n')
    with pytest.raises(SourceError, match=r"(?s)people\.csv.*(unterminated quote|a quote is not closed)"):
        scan(path, "y")


def test_millions_of_empty_lines_in_a_small_file_are_refused_or_read_soon(tmp_path):
    path = tmp_path / "people.csv.gz"
    path.write_bytes(gzip.compress(b"x,y\n1,a\n2,b\n" + b"\n" * (40 * 2**20), 9))
    begun = time.process_time()
    assert scan(path, "y").n_records == 2
    assert time.process_time() - begun < 5


def test_a_small_file_that_unpacks_to_a_huge_one_is_refused(tmp_path, monkeypatch):
    path = tmp_path / "people.csv.gz"
    text = b"x,y\n2,b\n" + b"1,a\n" * 99_999
    path.write_bytes(gzip.compress(text, 9))
    assert scan(path, "y").n_records == 100_000
    monkeypatch.setattr(_csv_header, "MOST_UNPACKED", len(text) - 1)
    with pytest.raises(SourceError, match=r"people\.csv\.gz unpacks to more than 400,003 bytes, 200 times"):
        scan(path, "y")
    monkeypatch.setattr(_csv_header, "MOST_RATIO", 1000)
    assert scan(path, "y").n_records == 100_000
