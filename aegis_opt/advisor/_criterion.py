"""What configurations are ranked by."""

from __future__ import annotations

from dataclasses import dataclass

from aegis_opt.measures import Measure


@dataclass(frozen=True)
class Criterion:
    """What configurations are ranked by: a measure of the masked attributes, or a score of all together.

    Parameters
    ----------
    name, title : str
        What users type, and what people read.
    higher_is_better : bool
        Which end of the values is the better one.
    unit : str
        Such as "bits"; empty for plain numbers.
    digits : int
        Decimals worth showing.
    """

    name: str
    title: str
    higher_is_better: bool = True
    unit: str = ""
    digits: int = 4

    @classmethod
    def of(cls, measure: Measure) -> Criterion:
        """Describe a measure."""
        return cls(measure.name, measure.title, measure.higher_is_better, measure.unit, measure.digits)
