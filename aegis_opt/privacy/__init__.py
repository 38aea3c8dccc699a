"""Privacy: rules that a masked table must satisfy, and whether it does; protections of counts."""

from aegis_opt.privacy._applied import AppliedProtection
from aegis_opt.privacy._base import PrivacyRule
from aegis_opt.privacy._protection import ControlledRounding, DifferentialPrivacy, Protection
from aegis_opt.privacy._rules import (
    BetaLikeness,
    DeltaDisclosure,
    KAnonymity,
    LDiversity,
    TCloseness,
)

__all__ = [
    "AppliedProtection",
    "BetaLikeness",
    "ControlledRounding",
    "DeltaDisclosure",
    "DifferentialPrivacy",
    "KAnonymity",
    "LDiversity",
    "PrivacyRule",
    "Protection",
    "TCloseness",
]
