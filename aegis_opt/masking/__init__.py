"""Masks (rules that group the values of an attribute) and configurations of them."""

from aegis_opt.masking.base import (
    Grouping,
    Identity,
    Label,
    Mask,
    Suppress,
    group_attribute,
    mask_from_spec,
)
from aegis_opt.masking.configuration import Configuration, Configurations, UnknownKey
from aegis_opt.masking.dates import Truncate
from aegis_opt.masking.digits import EraseDigits, Prefix
from aegis_opt.masking.extremes import TopCode
from aegis_opt.masking.generalize import Generalize
from aegis_opt.masking.hierarchy import Hierarchy
from aegis_opt.masking.steps import Blur, Bucketize

__all__ = [
    "Blur",
    "Bucketize",
    "Configuration",
    "Configurations",
    "EraseDigits",
    "Generalize",
    "Grouping",
    "Hierarchy",
    "Identity",
    "Label",
    "Mask",
    "Prefix",
    "Suppress",
    "TopCode",
    "Truncate",
    "UnknownKey",
    "group_attribute",
    "mask_from_spec",
]
