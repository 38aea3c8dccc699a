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

__all__ = [
    "Configuration",
    "Configurations",
    "Grouping",
    "Identity",
    "Label",
    "Mask",
    "Suppress",
    "UnknownKey",
    "group_attribute",
    "mask_from_spec",
]
