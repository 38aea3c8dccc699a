"""What masked labels change: which measures prove an order, and what the warnings say."""

from __future__ import annotations

from aegis_opt.measures import Measure
from aegis_opt.summary import AnySummary, ProtectedSummary


def masks_label(summary: AnySummary) -> bool:
    """Whether some configuration masks the label."""
    return not isinstance(summary, ProtectedSummary) and bool(summary.label_mask_of)


def labels_differ(summary: AnySummary) -> bool:
    """Whether configurations release different labels: masked in different ways, or masked and unmasked."""
    if isinstance(summary, ProtectedSummary):
        return False
    return len({summary.label_mask_of.get(name) for name in summary.configurations}) > 1


def proves_order(measure: Measure, summary: AnySummary) -> bool:
    """Whether the order of the masked values of a measure is the order of the true deviation.

    With rho(A; Y) the measure of the unmasked table, the deviation of a configuration is the mean of
    |rho(A; Y) - rho(M(A); M_Y(Y))|, where M_Y masks the label. If merging rows never makes the measure better
    and, where the label is masked, merging columns does not either, all differences have the same sign: they
    are what is lost from the same sum over the attributes.
    """
    return measure.monotone and (measure.monotone_in_labels or not masks_label(summary))


def warnings_about_labels(summary: AnySummary, measure: Measure | None) -> list[str]:
    """Say what to beware of where configurations release different labels.

    `measure` is what they are ranked by; None is a score of all attributes together.
    """
    if not labels_differ(summary) or (measure is not None and measure.monotone_in_labels):
        return []
    title = "the score" if measure is None else measure.title
    return [
        f"different labels: the configurations do not mask the label alike, and {title} can be better where "
        "classes are merged, which is no gain; measure='mi' and 'chi2' cannot."
    ]
