"""What was done to protected tables: the statement that goes with them, and how far off they are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from aegis_opt._options import flag, number, one_of, whole_number
from aegis_opt.errors import SummaryError

Method = Literal["geometric", "gaussian", "rounding"]
METHODS: tuple[str, ...] = get_args(Method)

_SCALES = 1e-3, 1e12  # less is no noise at all, and more would leave no room for counts below 2**53
_TAIL = 12  # standard deviations of a discrete Gaussian beyond which there is no probability worth a draw


@dataclass(frozen=True)
class AppliedProtection:
    """How the tables of a summary were protected, as its file says it.

    Parameters
    ----------
    method : {"geometric", "gaussian", "rounding"}
        The noise, or controlled rounding.
    scale : float
        Of the noise of each cell: P(z) is proportional to exp(-abs(z) / scale) for geometric noise and to
        exp(-z**2 / (2 scale**2)) for a discrete Gaussian. The base of a rounding.
    tables : int
        How many tables were protected together: one for each attribute. A record lies in a cell of each.
    epsilon, delta : float, optional
        The privacy loss of all tables together when one record is added or removed; delta is 0 for geometric
        noise. None for a rounding, which has no such guarantee.
    epsilon_of_change : float, optional
        The same when one record is changed into another one.
    seeded : bool
        Whether the draws came from a seed, so that whoever knows or guesses it can undo them.
    """

    method: Method
    scale: float
    tables: int
    epsilon: float | None = None
    epsilon_of_change: float | None = None
    delta: float | None = None
    seeded: bool = False

    def __post_init__(self) -> None:
        one_of("the method of the protection", self.method, METHODS, error=SummaryError)
        whole_number("the number of protected tables", self.tables, least=1, error=SummaryError)
        try:
            object.__setattr__(self, "seeded", flag("seeded in the protection", self.seeded))
        except ValueError as error:
            raise SummaryError(str(error)) from error
        if self.method == "rounding":
            whole_number("the base of the rounding", self.scale, least=2, most=2**31, error=SummaryError)
            if not self.epsilon is self.epsilon_of_change is self.delta is None:
                raise SummaryError("a rounding has no epsilon and no delta: remove them")
            return
        least, most = _SCALES
        number("the scale of the noise", self.scale, least=least, most=most, error=SummaryError)
        epsilon = number("epsilon of the protection", self.epsilon, above=0, error=SummaryError)
        of_change = number("epsilon of a change", self.epsilon_of_change, above=0, error=SummaryError)
        delta = number("delta of the protection", self.delta, least=0, most=1, error=SummaryError)
        if self.method == "geometric" and delta != 0:
            raise SummaryError("geometric noise has a delta of 0: correct the delta of the protection")
        if self.method == "gaussian" and delta == 0:
            raise SummaryError("Gaussian noise has a delta above 0: correct the delta of the protection")
        if of_change < epsilon * (1 - 1e-9):
            raise SummaryError(
                f"epsilon of a change, {of_change:g}, is below epsilon of the protection, {epsilon:g}: to "
                "change a record discloses at least as much as to add one; the statement is wrong"
            )
        cost = self.tables / self.scale
        if self.method == "geometric" and cost > epsilon * (1 + 1e-9):
            raise SummaryError(
                f"noise of scale {self.scale:g} on {self.tables} tables costs an epsilon of {cost:g}, not "
                f"{epsilon:g}: the statement of the protection is wrong"
            )

    @property
    def private(self) -> bool:
        """Whether the tables have the guarantee of differential privacy."""
        return self.method != "rounding" and not self.seeded

    @property
    def standard_deviation(self) -> float:
        """Standard deviation of the error of a cell; of a rounding, over all remainders alike."""
        if self.method == "rounding":
            return float(np.sqrt((self.scale**2 - 1) / 6))
        if self.method == "gaussian":
            return self.scale  # a hair less, for scales well below 1
        return float(1 / (np.sqrt(2) * np.sinh(1 / (2 * self.scale))))

    def errors(self, rng: np.random.Generator, shape: tuple[int, ...]) -> npt.NDArray[np.int64]:
        """Draw errors of cells from their distribution, to simulate protected tables; these are not private.

        A rounding moves a count of remainder r by -r, or by base - r with probability r / base. Where
        all remainders are alike, that is the difference of two uniform numbers below the base.

        Examples
        --------
        >>> AppliedProtection("rounding", 5, 1).errors(np.random.default_rng(0), (1000,)).max()
        np.int64(4)
        """
        if self.method == "rounding":
            base = int(self.scale)
            return np.asarray(rng.integers(0, base, shape) - rng.integers(0, base, shape), dtype=np.int64)
        if self.method == "geometric":
            p = -np.expm1(-1 / self.scale)
            return np.asarray(rng.geometric(p, shape) - rng.geometric(p, shape), dtype=np.int64)
        if self.scale > 1e5:  # the steps are too small beside the scale to be seen
            return np.rint(rng.normal(0, self.scale, shape)).astype(np.int64)
        farthest = int(np.ceil(_TAIL * self.scale)) + 1
        support = np.arange(-farthest, farthest + 1)
        cumulated = np.cumsum(np.exp(-0.5 * (support / self.scale) ** 2))
        places = np.searchsorted(cumulated, rng.random(shape) * cumulated[-1], side="right")
        return np.asarray(support[np.minimum(places, len(support) - 1)], dtype=np.int64)

    def statement(self) -> str:
        """Say in a sentence what the protection is."""
        if self.method == "rounding":
            drawn = ", drawn from a seed: whoever knows it learns more" if self.seeded else ""
            return f"every count is rounded to a multiple of {int(self.scale)} next to it, unbiased{drawn}"
        name = "two-sided geometric" if self.method == "geometric" else "discrete Gaussian"
        text = f"{name} noise of scale {self.scale:.6g} is added to every count"
        if self.seeded:
            text += ", drawn from a seed: this is not private"
        return text

    def budget(self) -> str:
        """Say in a sentence what the privacy loss is."""
        if self.method == "rounding":
            return "a rounding has no privacy budget: it hides small counts, and proves nothing"
        delta, changed = f" and delta {self.delta:g}" if self.delta else "", self.epsilon_of_change
        parts = f"{self.tables} tables, one for each attribute"
        share = f", {1 / self.scale:.6g} for each" if self.method == "geometric" else ""
        return (
            f"epsilon {self.epsilon:g}{delta} for adding or removing one record, over {parts}{share}; "
            f"epsilon {changed:.6g}{delta} for changing one record"
        )

    def document(self) -> dict[str, Any]:
        """Return the statement as JSON holds it."""
        if self.method == "rounding":
            return {
                "method": self.method,
                "base": int(self.scale),
                "tables": self.tables,
                "seeded": self.seeded,
            }
        return {
            "method": self.method,
            "scale": self.scale,
            "tables": self.tables,
            "epsilon": self.epsilon,
            "epsilon_of_change": self.epsilon_of_change,
            "delta": self.delta,
            "seeded": self.seeded,
        }

    @classmethod
    def read(cls, entry: Any) -> AppliedProtection:
        """Read what `document` returned."""
        if not isinstance(entry, dict):
            raise SummaryError("the protection must be an object: get a whole copy of the file")
        entry = dict(entry)
        if entry.get("method") == "rounding":
            entry["scale"] = entry.pop("base", None)
        known = {"method", "scale", "tables", "epsilon", "epsilon_of_change", "delta", "seeded"}
        missing = {"method", "scale", "tables", "seeded"} - set(entry)
        if missing or set(entry) - known:
            odd = ", ".join(sorted(map(repr, missing or set(entry) - known)))
            raise SummaryError(f"the protection {'lacks' if missing else 'has the unknown entry'} {odd}")
        return cls(**entry)
