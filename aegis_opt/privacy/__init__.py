"""Privacy: rules that a masked table must satisfy, and whether it does; protections of counts."""

from aegis_opt.privacy._applied import AppliedProtection
from aegis_opt.privacy._base import PrivacyRule
from aegis_opt.privacy._check import check_privacy
from aegis_opt.privacy._lattice import (
    Alternative,
    Certificate,
    SearchCurve,
    SearchResult,
    search,
    search_curve,
)
from aegis_opt.privacy._proof import Verification, verify_certificate
from aegis_opt.privacy._protection import ControlledRounding, DifferentialPrivacy, Protection
from aegis_opt.privacy._risks import Risks, risks
from aegis_opt.privacy._rules import (
    BetaLikeness,
    DeltaDisclosure,
    KAnonymity,
    LDiversity,
    TCloseness,
)

__all__ = [
    "Alternative",
    "AppliedProtection",
    "BetaLikeness",
    "Certificate",
    "ControlledRounding",
    "DeltaDisclosure",
    "DifferentialPrivacy",
    "KAnonymity",
    "LDiversity",
    "PrivacyRule",
    "Protection",
    "Risks",
    "SearchCurve",
    "SearchResult",
    "TCloseness",
    "Verification",
    "check_privacy",
    "risks",
    "search",
    "search_curve",
    "verify_certificate",
]
