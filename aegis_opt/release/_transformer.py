"""A configuration as a step of a scikit-learn pipeline. Importing this module imports scikit-learn."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, cast

import numpy as np
import numpy.typing as npt
import pandas as pd

from aegis_opt._options import one_of
from aegis_opt.domain import Domain, Kind
from aegis_opt.errors import ConfigurationError, InvalidInput, MaskError, MissingDependency
from aegis_opt.masks import (
    Configuration,
    Configurations,
    Generalize,
    Identity,
    Mask,
    NoiseMask,
    Suppress,
    group_attribute,
)
from aegis_opt.masks._base import naming
from aegis_opt.masks._configuration import check_label_mask
from aegis_opt.masks._parameters import bound_text
from aegis_opt.masks._sql import TEXT, Lookup, SqlColumn, drawn_column, rule_sql
from aegis_opt.release._apply import checked_configuration, opened_columns
from aegis_opt.release._frames import ArrayFrame, Frame, MaskedColumn, frame_of
from aegis_opt.release._label import as_column, as_label, n_classes
from aegis_opt.release._rows import needed_of
from aegis_opt.release._values import HandleUnknown, masked_values, noisy_column, outside
from aegis_opt.sources._names import checked_names
from aegis_opt.sources._small_frames import LARGEST

try:
    from sklearn.base import BaseEstimator, TransformerMixin
    from sklearn.utils.validation import _check_feature_names_in, check_is_fitted, validate_data
except ModuleNotFoundError as error:
    raise MissingDependency(
        "MaskingTransformer is for scikit-learn: pip install aegis-opt[sklearn]"
    ) from error

if TYPE_CHECKING:
    from aegis_opt.release._duckdb import DuckDBRows, How


FrameT = TypeVar("FrameT")
LabelT = TypeVar("LabelT")


class MaskingTransformer(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Mask columns with what a configuration makes of the training data.

    Takes pandas and polars DataFrames, Arrow tables and NumPy arrays, and gives the same kind back. The
    columns of an array are called x0, x1, ...

    Ranges are cut between the least and the greatest value of the training data. A later value beyond them
    belongs to the nearest range, and a warning counts such values. `KeepTop` and `PoolRare` keep the values
    that are frequent in the training data, and `Microaggregate` its groups. Noise is drawn anew by each
    `transform`, from the seed of its mask if it has one. Other rules do not depend on the data. Mappings and
    hierarchies know the values that they list.

    Parameters
    ----------
    configuration : Configuration, mapping of str to Mask, or str
        The masks; columns that it does not name stay as they are. A name is one of `configurations`.
    handle_unknown : {"error", "missing"}
        What becomes of a value that a mapping or hierarchy does not list (or, of masks that are neither a
        rule nor a list, one that was not in the training data).
    configurations : Configurations, optional
        What a name is looked up in, so that a search over names has readable results.
    label : str, optional
        The column whose mask is for y and not for a column of X; by default the label that the
        `configurations` name. scikit-learn's pipelines pass y on as it is, so mask it before:
        ``y = masking.fit_label(y).transform_label(y)``.

    Attributes
    ----------
    masks_ : dict of str to Mask
        The masks of X that were fitted.
    label_mask_ : Mask or None
        The mask of y that `fit_label` fitted; None where the configuration does not mask the label.
    domains_ : dict of str to Domain
        What is known of each masked column: the extent, or the values, of the training data.
    feature_names_in_, n_features_in_ : ndarray of str, int
        The columns of the training data, which are those of the result, too. An array has no names.

    Examples
    --------
    >>> import pandas as pd
    >>> from aegis_opt.masks import Generalize
    >>> masking = MaskingTransformer({"age": Generalize(ranges=2)}).fit(pd.DataFrame({"age": [10, 20]}))
    >>> masking.transform(pd.DataFrame({"age": [12, 19]}))["age"].tolist()
    ['[10, 15]', '[16, 21]']
    >>> MaskingTransformer({"x0": Generalize(ranges=2)}).fit_transform(np.array([[10.5, 3.0], [20.5, 4.0]]))
    array([['[10.5, 15.5)', 3.0],
           ['[15.5, 20.5]', 4.0]], dtype=object)
    """

    def __init__(
        self,
        configuration: Configuration | Mapping[str, Mask] | str,
        *,
        handle_unknown: HandleUnknown = "error",
        configurations: Configurations | None = None,
        label: str | None = None,
    ) -> None:
        self.configuration = configuration
        self.handle_unknown = handle_unknown
        self.configurations = configurations
        self.label = label

    def fit(self, X: object, y: object = None) -> MaskingTransformer:  # noqa: ARG002
        """Learn the extent of the masked columns."""
        one_of("handle_unknown", self.handle_unknown, ("error", "missing"))
        frame = self._frame(X, reset=True)
        names = self._names()
        of_columns, label, _ = self._apart()
        if label in names:
            raise ConfigurationError(
                f"{label!r} is the label, and a column of X, too: drop it from X, and pass it as y"
            )
        configuration = checked_configuration(of_columns, names, "the training data")
        masks = {name: mask for name, mask in configuration.items() if not isinstance(mask, Identity)}
        places = {name: names.index(name) for name, mask in masks.items() if not isinstance(mask, Suppress)}
        columns = _in_memory(frame, places)
        if columns is not None:
            for name, column in columns.items():
                with naming(name):
                    if masks[name].needs_counts:
                        masks[name] = masks[name].fitted(column.domain, column.counts)
            self.domains_ = {name: needed_of(masks[name], column.domain) for name, column in columns.items()}
        else:
            read = {name: masks[name] for name in places}
            with opened_columns(frame.source([*places.values()]), read) as opened:
                masks.update(opened.rows.masks)
                self.domains_ = opened.rows.needed_domains()
        if self.handle_unknown == "error":
            for name, domain in self.domains_.items():
                if not isinstance(masks[name], NoiseMask):  # whose values are checked when they are masked
                    group_attribute(masks[name], name, domain)
        self.masks_ = masks
        return self

    def transform(self, X: FrameT) -> FrameT:
        """Return the same kind of frame or array with the same columns, masked."""
        check_is_fitted(self)
        frame = self._frame(X, reset=False)
        names = self._names()
        masks = self.masks_  # as fitted: what is set later counts from the next fit on
        places = {name: names.index(name) for name, mask in masks.items() if not isinstance(mask, Suppress)}
        columns = _in_memory(frame, places)
        if columns is None:
            return cast("FrameT", self._by_engine(frame, names))
        masked: dict[int, MaskedColumn] = {
            names.index(name): (["*"], np.zeros(frame.n_rows, dtype=np.int64), TEXT)
            for name in masks
            if name not in places
        }
        for name, column in columns.items():
            with naming(name):
                mask = masks[name]
                if isinstance(mask, NoiseMask):
                    masked[places[name]] = noisy_column(
                        mask, name, column.domain, column.codes, self.handle_unknown
                    )
                    continue
                now, learnt = self._comparable(column.domain, name)
                if self._counts_outside(name):
                    _warn_outside(name, column.counts[outside(now, learnt)].sum(), frame.n_rows, learnt)
                values = masked_values(masks[name], now, learnt, self.handle_unknown)
                masked[places[name]] = (values.labels(), column.codes, values.sql_type)
        return cast("FrameT", frame.replaced(masked))

    def fit_label(self, y: object) -> MaskingTransformer:
        """Learn the classes of the label that the configuration masks; `fit` does not look at y.

        Parameters
        ----------
        y : array_like, pandas or polars Series
            The labels of the training data.

        Returns
        -------
        MaskingTransformer
            Itself, to call `transform_label`.

        Raises
        ------
        MaskError
            If the mask does not fit the classes, or leaves one class.
        """
        one_of("handle_unknown", self.handle_unknown, ("error", "missing"))
        _, label, mask = self._apart()
        self.label_mask_, self._label_masking = mask, None
        if mask is None:
            return self
        column = as_column(y, label)
        masking = MaskingTransformer({label: mask}, handle_unknown=self.handle_unknown)
        masked = masking.fit_transform(column)
        if n_classes(masked, label) < 2 <= n_classes(column, label):
            raise MaskError(
                f"{mask!r} leaves one class of the label {label!r}, so nothing is left to predict: use a "
                "mask that keeps at least two apart"
            )
        self.label_mask_, self._label_masking = masking.masks_[label], masking
        return self

    def transform_label(self, y: LabelT) -> LabelT:
        """Return labels masked as the configuration says.

        Parameters
        ----------
        y : array_like, pandas or polars Series
            Labels, such as those of `fit_label`.

        Returns
        -------
        Series, or ndarray for all that is none
            Of the same length; unchanged where the configuration does not mask the label.

        Examples
        --------
        >>> import pandas as pd
        >>> from aegis_opt.masks import Blur, Generalize
        >>> masks = {"age": Blur(10), "health": Generalize({"well": ["good", "fair"], "ill": ["poor"]})}
        >>> y = pd.Series(["good", "poor", "fair"], name="health")
        >>> MaskingTransformer(masks, label="health").fit_label(y).transform_label(y).tolist()
        ['well', 'ill', 'well']
        """
        if not hasattr(self, "label_mask_"):
            raise InvalidInput("the classes of the label are not known yet: call fit_label(y) first")
        if self._label_masking is None:
            return y
        _, label, _ = self._apart()
        masked = self._label_masking.transform(as_column(y, label))
        return cast("LabelT", as_label(masked, label, y))

    def get_feature_names_out(self, input_features: Sequence[str] | None = None) -> npt.NDArray[np.object_]:
        """Return the names of the columns, which masking does not change."""
        check_is_fitted(self)
        with _as_own_error():
            return np.asarray(_check_feature_names_in(self, input_features), dtype=object)

    def __sklearn_tags__(self) -> Any:
        """Tell scikit-learn what is taken: also text, categories and missing values."""
        tags = super().__sklearn_tags__()
        tags.input_tags.string = tags.input_tags.categorical = tags.input_tags.allow_nan = True
        tags.transformer_tags.preserves_dtype = []
        return tags

    def _chosen(self) -> Configuration | Mapping[str, Mask]:
        """Return the configuration, looked up by its name if it is one."""
        if not isinstance(self.configuration, str):
            if self.configurations is not None:
                raise ConfigurationError(
                    "configurations are for a configuration that is given by its name: leave them out"
                )
            return self.configuration
        if not isinstance(self.configurations, Configurations):
            raise ConfigurationError(
                f"the configuration {self.configuration!r} is a name: pass configurations=..., too"
            )
        return self.configurations[self.configuration]

    def _apart(self) -> tuple[Configuration | Mapping[str, Mask], str, Mask | None]:
        """Return the masks of the columns of X, the name of a masked label (or nothing), and its mask."""
        chosen = self._chosen()
        label = self.label
        if label is None and self.configurations is not None:
            label = self.configurations.label
        if label is None or not isinstance(chosen, Mapping):
            return chosen, "", None
        if label not in chosen:
            if self.label is not None and self.configurations is None:
                raise ConfigurationError(
                    f"label names {label!r}, which the configuration does not mask (masked: "
                    f"{', '.join(map(repr, chosen)) or 'none'}): leave label out, or correct it"
                )
            return chosen, "", None
        check_label_mask(getattr(chosen, "name", ""), label, chosen)
        masks = {name: mask for name, mask in chosen.items() if name != label}
        return masks, label, None if isinstance(chosen[label], Identity) else chosen[label]

    def _frame(self, X: Any, *, reset: bool) -> Frame:
        """Check the columns as scikit-learn does, and return what holds them."""
        frame = frame_of(X)
        with _as_own_error():
            if frame is None:
                return ArrayFrame(validate_data(self, X, reset=reset, dtype=None, ensure_all_finite=False))
            if not isinstance(X, pd.DataFrame) or not self._names_agree(X.columns.tolist(), reset=reset):
                validate_data(self, X, reset=reset, skip_check_array=True)
        if not frame.n_rows or not frame.n_columns:
            raise InvalidInput(
                f"there is nothing to mask in a frame of {frame.n_rows} rows and {frame.n_columns} columns: "
                "give it some"
            )
        return frame

    def _names_agree(self, names: Sequence[object], *, reset: bool) -> bool:
        """Whether columns are named, and as when fitted, which scikit-learn takes a while to find out."""
        if not names or not all(isinstance(name, str) for name in names):
            return False
        if reset:
            self.feature_names_in_ = np.array(names, dtype=object)
            self.n_features_in_ = len(names)
            return True
        return hasattr(self, "feature_names_in_") and list(names) == self.feature_names_in_.tolist()

    def _names(self) -> list[str]:
        """Return the names of the columns of the training data."""
        if hasattr(self, "feature_names_in_"):
            return list(checked_names(self.feature_names_in_, "the training data"))
        return [f"x{i}" for i in range(self.n_features_in_)]

    def _counts_outside(self, name: str) -> bool:
        mask = self.masks_[name]
        return isinstance(mask, Generalize) and mask.ranges is not None

    def _by_engine(self, frame: Frame, names: list[str]) -> Any:
        """Mask a large frame, or one whose types need an engine, by DuckDB."""
        positions = [names.index(name) for name in self.masks_]
        with opened_columns(frame.source(positions), self.masks_) as columns:
            extents = columns.rows.extents()
            how: dict[str, How] = {}
            for name in self.masks_:
                with naming(name):
                    how[name] = self._how(name, columns.rows, extents[name]) if name in extents else "'*'"
            return frame.replaced_from(columns.masked(how), positions)

    def _how(self, name: str, rows: DuckDBRows, extent: Domain) -> How:
        """Return how a column is masked by an engine."""
        mask = self.masks_[name]
        if isinstance(mask, NoiseMask):
            if self.handle_unknown == "error":
                mask.channel(rows.values(name))
            return drawn_column(mask, rows.sql_column(name, extent))
        if not len(extent.values):
            return Lookup.of_missing(mask)
        now, learnt = self._comparable(extent, name)
        if self._counts_outside(name) and outside(now, learnt).any():
            low, high = learnt.values[[0, -1]]
            _warn_outside(name, *rows.count_outside(name, low.item(), high.item()), learnt)
        known = extent if mask.pointwise else learnt
        rule = rule_sql(mask, SqlColumn(rows.columns[name].sql, known.kind, known))
        if rule is not None:
            return rule
        now, learnt = self._comparable(rows.values(name), name)
        return masked_values(mask, now, learnt, self.handle_unknown).lookup()

    def _comparable(self, now: Domain, name: str) -> tuple[Domain, Domain]:
        """Return the values of a column and what was learnt about it as domains of one kind."""
        learnt = self.domains_[name]
        if self.masks_[name].pointwise or not len(now.values):
            return now, learnt
        kinds: set[Kind] = {now.kind, learnt.kind}
        if not len(learnt.values):
            return now, Domain(now.kind, np.array([]))
        if kinds == {"integer", "real"}:  # pandas makes integers real when some are missing
            return _as_real(now), _as_real(learnt)
        if len(kinds) > 1:
            raise MaskError(
                f"the values are of kind {now.kind}, but were {learnt.kind} when fitted: convert them"
            )
        return now, learnt


class _ColumnInMemory(NamedTuple):
    """A column in memory."""

    domain: Domain
    codes: npt.NDArray[np.int64]  # the place of each record's value in the domain
    counts: npt.NDArray[np.int64]  # how often each value occurs


def _in_memory(frame: Frame, places: Mapping[str, int]) -> dict[str, _ColumnInMemory] | None:
    """Return the columns of a small frame; None where an engine is to read them."""
    if places and frame.n_rows > LARGEST:
        return None
    found = {}
    for name, position in places.items():
        present = frame.present(position)
        if present is None:
            return None
        codes, domain = Domain.encode(*present)
        found[name] = _ColumnInMemory(domain, codes, np.bincount(codes, minlength=len(domain)))
    return found


def _as_real(domain: Domain) -> Domain:
    return Domain("real", domain.values.astype(np.float64), domain.missing)


def _warn_outside(name: str, count: int, records: int, learnt: Domain) -> None:
    if count:
        low, high = (bound_text(value) for value in learnt.values[[0, -1]].tolist())
        warnings.warn(
            f"attribute {name!r}: {count:,} of {records:,} values lie outside [{low}, {high}], the range of "
            "the training data, and belong to its nearest range",
            stacklevel=4,
        )


@contextmanager
def _as_own_error() -> Iterator[None]:
    """Raise what scikit-learn says of its input as an error of the library."""
    try:
        yield
    except InvalidInput:
        raise
    except (TypeError, ValueError) as error:
        raise InvalidInput(str(error)) from error
