"""Privacy: rules that a masked table must satisfy, and whether it does."""

from aegis_opt.privacy._base import PrivacyRule
from aegis_opt.privacy._check import check_privacy
from aegis_opt.privacy._risks import Risks, risks
from aegis_opt.privacy._rules import (
    BetaLikeness,
    DeltaDisclosure,
    KAnonymity,
    LDiversity,
    TCloseness,
)

__all__ = [
    "BetaLikeness",
    "DeltaDisclosure",
    "KAnonymity",
    "LDiversity",
    "PrivacyRule",
    "Risks",
    "TCloseness",
    "check_privacy",
    "risks",
]
