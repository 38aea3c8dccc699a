"""A configuration as a step of a scikit-learn pipeline. Importing this module imports scikit-learn."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import duckdb
import numpy as np
import numpy.typing as npt
import pandas as pd

from aegis_opt._options import one_of
from aegis_opt.domain import Domain, Kind
from aegis_opt.errors import InvalidInput, MaskError, MissingDependency
from aegis_opt.masks import Configuration, Generalize, Identity, Mask, group_attribute
from aegis_opt.masks._base import naming
from aegis_opt.masks._parameters import some
from aegis_opt.masks._sql import Lookup, SqlColumn, listed_domain, rule_sql
from aegis_opt.release._apply import checked_configuration, replaced_in_pandas
from aegis_opt.release._duckdb import DuckDBRows
from aegis_opt.release._progress import readable
from aegis_opt.sources._database import open_database
from aegis_opt.sources._tables import PandasTable

try:
    from sklearn.base import BaseEstimator, TransformerMixin
    from sklearn.utils.validation import check_is_fitted
except ModuleNotFoundError as error:
    raise MissingDependency("MaskingTransformer is for scikit-learn: pip install scikit-learn") from error


class MaskingTransformer(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Mask the columns of a DataFrame with what a configuration makes of the training data.

    Ranges are cut between the least and the greatest value of the training data; a later value in none of
    them belongs to the last one. Other rules do not depend on the data. Mappings and hierarchies know the
    values that they list.

    Parameters
    ----------
    configuration : Configuration or mapping of str to Mask
        The masks; columns that it does not name stay as they are.
    handle_unknown : {"error", "missing"}
        What becomes of a value that a mapping or hierarchy does not list (or, of masks that are neither a
        rule nor a list, one that was not in the training data).

    Attributes
    ----------
    masks_ : dict of str to Mask
        The masks that were fitted.
    domains_ : dict of str to Domain
        What is known of each masked column: the extent, or the values, of the training data.
    feature_names_in_, n_features_in_ : ndarray of str, int
        The columns of the training data, which are those of the result, too.

    Examples
    --------
    >>> from aegis_opt.masks import Generalize
    >>> masking = MaskingTransformer({"age": Generalize(ranges=2)}).fit(pd.DataFrame({"age": [10, 20]}))
    >>> masking.transform(pd.DataFrame({"age": [12, 99]}))["age"].tolist()
    ['[10, 15]', '[16, 21]']
    """

    def __init__(
        self,
        configuration: Configuration | Mapping[str, Mask],
        *,
        handle_unknown: Literal["error", "missing"] = "error",
    ) -> None:
        self.configuration = configuration
        self.handle_unknown = handle_unknown

    def fit(self, X: pd.DataFrame, y: object = None) -> MaskingTransformer:  # noqa: ARG002
        """Learn the extent of the masked columns."""
        one_of("handle_unknown", self.handle_unknown, ("error", "missing"))
        names = _names(X)
        configuration = checked_configuration(self.configuration, names, "the training data")
        masks = {name: mask for name, mask in configuration.items() if not isinstance(mask, Identity)}
        self.feature_names_in_ = np.array(names, dtype=object)
        self.n_features_in_ = len(names)
        with open_database() as connection, readable("the training data"):
            self.domains_ = _rows(X, masks, connection).needed_domains() if masks else {}
        if self.handle_unknown == "error":
            for name, domain in self.domains_.items():
                group_attribute(masks[name], name, domain)
        self.masks_ = masks
        return self

    def transform(self, X: pd.DataFrame) -> pd.DataFrame:
        """Return a frame with the same columns, masked."""
        check_is_fitted(self)
        names = _names(X)
        if names != self.feature_names_in_.tolist():
            raise InvalidInput(
                f"the columns are {some(names, 10)}, but were {some(self.feature_names_in_, 10)} when fitted"
            )
        masks = self.masks_  # as fitted: what is set later counts from the next fit on
        if not masks:
            return X.copy()
        with open_database() as connection, readable("the DataFrame"):
            rows = _rows(X, masks, connection)
            extents = rows.extents()
            how: dict[str, str | Lookup] = {}
            for name, mask in masks.items():
                with naming(name):
                    how[name] = self._how(mask, name, rows, extents[name]) if name in extents else "'*'"
            return replaced_in_pandas(X, rows.names, rows.masked(how, connection))

    def get_feature_names_out(self, input_features: object = None) -> npt.NDArray[np.object_]:
        """Return the names of the columns, which masking does not change."""
        check_is_fitted(self)
        if input_features is not None and list(input_features) != self.feature_names_in_.tolist():  # type: ignore[call-overload]
            raise InvalidInput(f"input_features must be {some(self.feature_names_in_, 10)}")
        return self.feature_names_in_.copy()

    def _how(self, mask: Mask, name: str, rows: DuckDBRows, extent: Domain) -> str | Lookup:
        """Return how a column is masked."""
        if not len(extent.values):
            return Lookup.of_missing(mask)
        identifier = rows.columns[name].sql
        if not isinstance(mask, Generalize):  # a rule that does not depend on the training data, if it is one
            rule = rule_sql(mask, SqlColumn(identifier, extent.kind, extent))
            if rule is not None:
                return rule
        learnt = self._learnt_as(extent.kind, name)
        column = SqlColumn(identifier, learnt.kind, learnt)
        rule = rule_sql(mask, column)
        if rule is not None:
            return rule
        listed = listed_domain(mask, learnt.kind)
        known = Domain(learnt.kind, learnt.values, missing=True) if listed is None else listed
        if self.handle_unknown == "error":
            values = rows.values(name).values
            if len(unknown := np.setdiff1d(values, known.values)):
                raise MaskError(
                    f"{mask!r} does not say what becomes of {some(unknown.tolist())}: list them, or choose "
                    "handle_unknown='missing'"
                )
        return Lookup.of(mask, known)

    def _learnt_as(self, kind: Kind, name: str) -> Domain:
        """Return what was learnt about a column as values of the kind that it has now."""
        learnt = self.domains_[name]
        if not len(learnt.values):
            return Domain(kind, np.array([]))
        if {kind, learnt.kind} == {"integer", "real"}:  # pandas makes integers real when some are missing
            return Domain("real", learnt.values.astype(np.float64))
        if kind != learnt.kind:
            raise MaskError(
                f"the values are of kind {kind}, but were {learnt.kind} when fitted: convert them"
            )
        return learnt


def _names(X: object) -> list[str]:
    if not isinstance(X, pd.DataFrame):
        kind = f"{type(X).__module__.partition('.')[0]}.{type(X).__name__}"
        raise InvalidInput(f"MaskingTransformer masks a pandas DataFrame, not {kind}: convert it")
    return list(PandasTable(X).names())


def _rows(X: pd.DataFrame, masks: Mapping[str, Mask], connection: duckdb.DuckDBPyConnection) -> DuckDBRows:
    """Hand the columns to mask over to DuckDB."""
    places = {name: i for i, name in enumerate(X.columns) if name in masks}
    relation = PandasTable(X).select(connection, list(places.values()))
    return DuckDBRows.of(relation, list(places), masks, "the DataFrame")
