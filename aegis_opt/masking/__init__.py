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
from aegis_opt.masking.candidates import candidate_masks, information_loss
from aegis_opt.masking.configuration import (
    Configuration,
    Configurations,
    UnknownKey,
    load_configurations,
    save_configurations,
)
from aegis_opt.masking.dates import Truncate
from aegis_opt.masking.digits import EraseDigits, Prefix
from aegis_opt.masking.extremes import TopCode
from aegis_opt.masking.generalize import Generalize
from aegis_opt.masking.generate import (
    all_configurations,
    count_configurations,
    domains_of,
    generate_configurations,
)
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
    "all_configurations",
    "candidate_masks",
    "count_configurations",
    "domains_of",
    "generate_configurations",
    "group_attribute",
    "information_loss",
    "load_configurations",
    "mask_from_spec",
    "save_configurations",
]
