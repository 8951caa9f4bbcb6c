"""What this process holds, as the kernel counts it."""

from __future__ import annotations

import gc
import threading
from pathlib import Path

__all__ = ["is_known", "now"]

_ROLLUP = Path("/proc/self/smaps_rollup")
_STATUS = Path("/proc/self/status")
_KIB = 1024


def is_known() -> bool:
    """Whether this system tells (Linux does)."""
    return _ROLLUP.exists()


def now() -> dict[str, int]:
    """Get resident, proportional and private bytes, the page tables' bytes, and the number of threads.

    ``resident`` counts a page of the shared snapshot for each run that has touched it, ``proportional`` once in all.
    """
    gc.collect()
    rollup, status = _fields(_ROLLUP), _fields(_STATUS)
    return {
        "resident_bytes": rollup["Rss"],
        "proportional_bytes": rollup["Pss"],
        "private_bytes": rollup["Private_Dirty"],
        "page_table_bytes": status["VmPTE"],
        "threads_count": threading.active_count(),
    }


def _fields(path: Path) -> dict[str, int]:
    fields: dict[str, int] = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        name, _, rest = line.partition(":")
        words = rest.split()
        if len(words) == 2 and words[1] == "kB":
            fields[name] = int(words[0]) * _KIB
    return fields
