"""The search of all combinations of candidates, with a proof."""

from aegis_opt.privacy._lattice._certificate import Certificate
from aegis_opt.privacy._lattice._curve import SearchCurve, search_curve
from aegis_opt.privacy._lattice._result import Alternative, SearchResult
from aegis_opt.privacy._lattice._search import search

__all__ = ["Alternative", "Certificate", "SearchCurve", "SearchResult", "search", "search_curve"]
