"""Sources of records: files, frames, relations and clusters, read by one interface that counts."""

from aegis_opt.sources._counts import Coarsening, JointCounts, Progress, Scan, ValueCounts
from aegis_opt.sources._scan import OnManyValues, columns, open_engine, scan, scan_counts, scan_domains

__all__ = [
    "Coarsening",
    "JointCounts",
    "OnManyValues",
    "Progress",
    "Scan",
    "ValueCounts",
    "columns",
    "open_engine",
    "scan",
    "scan_counts",
    "scan_domains",
]
