"""A run's limits as the guest keeps them."""

from __future__ import annotations

from functools import lru_cache

from keelbox_sandbox.contract import KIB, MIB, Limits

from .abi import StartHeader

__all__ = ["start_header"]

_U32_MAX = 2**32 - 1


@lru_cache(maxsize=256)
def start_header(limits: Limits) -> StartHeader:
    """The header of start(), compile() and inspect(). Kept, because a tool's limits are the same in each run."""

    def whole(value: float, unit: int = 1) -> int:
        return min(_U32_MAX, max(0, int(value * unit)))

    return StartHeader(
        heap_bytes=whole(limits.heap_mib, MIB),
        stack_bytes=whole(limits.stack_kib, KIB),
        buffer_bytes=whole(limits.buffer_mib, MIB),
        return_bytes=whole(limits.return_kib, KIB),
        log_bytes=whole(limits.log_kib, KIB),
        log_lines_count=whole(limits.log_lines_count),
        requests_count=whole(limits.requests_count),
        message_bytes=whole(limits.message_mib, MIB),
        writes_count=whole(limits.writes_count),
        staged_bytes=whole(limits.staged_mib, MIB),
        dictionary_bytes=whole(limits.dictionary_kib, KIB),
        session_bytes=whole(limits.session_kib, KIB),
    )
