"""Verification of certificates: nothing here uses the search."""

from aegis_opt.privacy._proof._verify import Verification, verify_certificate

__all__ = ["Verification", "verify_certificate"]
