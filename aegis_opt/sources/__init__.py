"""Sources of records: files, frames and relations, read by one interface that counts."""

from aegis_opt.sources.counts import JointCounts, Scan
from aegis_opt.sources.scan import columns, scan, scan_domains

__all__ = ["JointCounts", "Scan", "columns", "scan", "scan_domains"]
