"""Peak memory of a piece of work, without slowing it down."""

from __future__ import annotations

from pathlib import Path

_STATUS = Path("/proc/self/status")
_RESET = Path("/proc/self/clear_refs")


class PeakMemory:
    """How much the resident memory of this process grew at most since the object was made.

    Linux keeps the high-water mark of resident memory and resets it on request, which costs microseconds.
    Memory that the process held before and uses again does not count. Other systems keep the mark of the
    whole life of the process only, which says nothing about one piece of work: there it is None.
    """

    def __init__(self) -> None:
        try:
            _RESET.write_text("5")
            self._before: int | None = _kilobytes("VmRSS")
        except OSError:
            self._before = None

    def megabytes(self) -> float | None:
        """Return the growth in MiB, or None where the system cannot tell."""
        if self._before is None:
            return None
        return max(0, _kilobytes("VmHWM") - self._before) / 1024


def _kilobytes(field: str) -> int:
    line = next(line for line in _STATUS.read_text().splitlines() if line.startswith(f"{field}:"))
    return int(line.split()[1])
