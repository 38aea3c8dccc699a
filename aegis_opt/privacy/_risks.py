"""Risks of re-identification: how likely a record is linked to its person by the quasi-identifiers."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from aegis_opt._options import float_array
from aegis_opt.errors import InvalidInput


class Risks(NamedTuple):
    """Risks of re-identification; `risks` says what they are."""

    prosecutor: float
    journalist: float
    marketer: float
    unique: float


def risks(classes: ArrayLike, population: ArrayLike | None = None) -> Risks:
    """Compute the risks of a table from the sizes of its equivalence classes.

    With f_j records in class j of the table, N in all of them, and F_j persons of the population in class j:

    * prosecutor risk, max 1 / f_j: an attacker knows that a certain person is in the table;
    * journalist risk, max 1 / F_j: an attacker wants to re-identify anybody, and knows the population;
    * marketer risk, sum of f_j / F_j over the classes, divided by N: the share of records that an attacker
      re-identifies who links them all;
    * unique: the share of records that are alone in their class.

    Parameters
    ----------
    classes : array_like of int, shape (n_classes,)
        Records of each class.
    population : array_like of int, shape (n_classes,), optional
        Persons of each class in the population that the table was drawn from. By default the table is the
        population.

    Returns
    -------
    Risks
        prosecutor, journalist, marketer, unique; each from 0 to 1.

    References
    ----------
    K. El Emam, *Guide to the De-Identification of Personal Health Information*, CRC Press 2013.

    Examples
    --------
    >>> import aegis_opt as ao
    >>> ao.privacy.risks([1, 4, 5])
    Risks(prosecutor=1.0, journalist=1.0, marketer=0.3, unique=0.1)
    >>> ao.privacy.risks([1, 4, 5], population=[10, 40, 20]).journalist
    0.1
    """
    sizes = float_array("classes", classes)
    persons = sizes if population is None else float_array("population", population)
    if sizes.ndim != 1 or persons.shape != sizes.shape:
        raise InvalidInput(
            "risks need one size per class, and as many of the population, not arrays of shapes "
            f"{sizes.shape} and {persons.shape}"
        )
    if (few := np.flatnonzero(~(persons >= sizes))).size or (sizes < 0).any():
        at = int(few[0]) if few.size else int(np.argmax(sizes < 0))
        raise InvalidInput(
            f"class {at} has {sizes[at]:g} records in the table and {persons[at]:g} in the population: sizes "
            "are not negative, and the population contains the table"
        )
    sizes, persons = sizes[sizes > 0], persons[sizes > 0]
    if not len(sizes):
        return Risks(0.0, 0.0, 0.0, 0.0)
    n = sizes.sum()
    return Risks(
        float(1 / sizes.min()),
        float(1 / persons.min()),
        float((sizes / persons).sum() / n),
        float(np.count_nonzero(sizes == 1) / n),
    )
