"""Masks (rules that group the values of an attribute, or add noise to them) and configurations of them."""

from aegis_opt.masks._add_noise import AddNoise
from aegis_opt.masks._base import (
    Grouping,
    Identity,
    Label,
    Mask,
    Suppress,
    group_attribute,
    mask_from_spec,
)
from aegis_opt.masks._buckets import Blur, Bucketize
from aegis_opt.masks._candidates import candidate_masks, information_loss
from aegis_opt.masks._configuration import (
    Configuration,
    Configurations,
    UnknownKey,
    load_configurations,
    save_configurations,
)
from aegis_opt.masks._fit import fit_configuration
from aegis_opt.masks._frequent import KeepTop, PoolRare
from aegis_opt.masks._generalize import Generalize
from aegis_opt.masks._generate import (
    all_configurations,
    count_configurations,
    domains_of,
    generate_configurations,
)
from aegis_opt.masks._hierarchy import Hierarchy
from aegis_opt.masks._learn import learn_hierarchy
from aegis_opt.masks._microaggregate import Microaggregate
from aegis_opt.masks._noise import Channel, NoiseMask
from aegis_opt.masks._pram import Pram
from aegis_opt.masks._randomized_response import RandomizedResponse
from aegis_opt.masks._text import EraseDigits, Prefix
from aegis_opt.masks._top_code import TopCode
from aegis_opt.masks._truncate import Truncate

__all__ = [
    "AddNoise",
    "Blur",
    "Bucketize",
    "Channel",
    "Configuration",
    "Configurations",
    "EraseDigits",
    "Generalize",
    "Grouping",
    "Hierarchy",
    "Identity",
    "KeepTop",
    "Label",
    "Mask",
    "Microaggregate",
    "NoiseMask",
    "PoolRare",
    "Pram",
    "Prefix",
    "RandomizedResponse",
    "Suppress",
    "TopCode",
    "Truncate",
    "UnknownKey",
    "all_configurations",
    "candidate_masks",
    "count_configurations",
    "domains_of",
    "fit_configuration",
    "generate_configurations",
    "group_attribute",
    "information_loss",
    "learn_hierarchy",
    "load_configurations",
    "mask_from_spec",
    "save_configurations",
]
