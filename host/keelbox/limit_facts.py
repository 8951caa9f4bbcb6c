"""What is true of each limit: the one table that messages, limits.yaml and docs/reference/limits.md are held to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Final, Literal, TypeAlias

from keelbox_sandbox.contract import Limits

__all__ = ["LIMIT_FACTS", "LimitFact", "Unit", "built_in_maximum"]

Unit: TypeAlias = Literal["MiB", "KiB", "seconds", "count"]

_DEFAULTS: Final = Limits()

_ANY: Final = 2**31 - 1
"""Highest value of a limit that nothing but good sense bounds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitFact:
    """One limit. The texts are Markdown, without a full stop at the end."""

    name: str
    maximum: float
    """What ``maximum`` is in Keelbox's own limits.yaml; an operator may set another, up to ``ceiling``."""
    counted: str
    scope: str
    beyond: str
    """What becomes of it, as the script sees it."""
    not_covered: str
    minimum: float = 0.001
    """Lowest value that can be meant."""
    ceiling: float = _ANY
    """Highest value that the runtimes can hold."""

    @property
    def default(self) -> float:
        """The built-in default."""
        value: float = getattr(_DEFAULTS, self.name)
        return value

    @property
    def unit(self) -> Unit:
        """The unit, which is in the name."""
        return _UNITS[self.name.rpartition("_")[2]]

    @property
    def stem(self) -> str:
        """The name without its unit."""
        return self.name.rpartition("_")[0]


_UNITS: Final[Mapping[str, Unit]] = {"mib": "MiB", "kib": "KiB", "s": "seconds", "count": "count"}

_FACTS: Final = (
    LimitFact(
        name="heap_mib",
        maximum=256,
        minimum=1,
        # A WebAssembly memory of 32 bits has 4 GiB, which heap, buffer and stack share.
        ceiling=3072,
        counted="all memory of the guest except the exchange buffer: objects, strings, typed arrays, compiled code",
        scope="one run",
        beyond="an out-of-memory error, which the script can catch once; then the run is cut as `memory-exceeded`",
        not_covered="what the host keeps of the run: staged writes and log text, which have limits of their own",
    ),
    LimitFact(
        name="buffer_mib",
        maximum=64,
        ceiling=512,
        counted="the exchange buffer: the body of one request, or of one response after decoding",
        scope="one op",
        beyond="the op throws `request-too-large` or `response-too-large`",
        not_covered="the sum of a run: bodies may follow one another, up to `requests_count`",
    ),
    LimitFact(
        name="stack_kib",
        maximum=512,
        minimum=16,
        # The WebAssembly guest's stack has its size from the linker, and the engine's own frames need a part of it.
        ceiling=512,
        counted="the call stack of the guest",
        scope="one run",
        beyond="the call throws a RangeError (JavaScript) or RecursionError (Python), which the script can catch",
        not_covered="chains of promises, which are objects: `heap_mib` bounds them",
    ),
    LimitFact(
        name="cpu_s",
        maximum=60,
        counted="processor time of the guest, compiling and exporting the result included",
        scope="one run, summed over everything between its ops",
        beyond="the run is cut as `cpu-exceeded`, with the script line where it was",
        not_covered="waiting for an op, and the host's own work for it: `wall_s` bounds them",
    ),
    LimitFact(
        name="wall_s",
        maximum=600,
        counted="time from the start of the run to its end, waiting included",
        scope="one run",
        beyond="the run is cut as `time-exceeded`",
        not_covered="the commit of the staged writes, which begins when the run has ended",
    ),
    LimitFact(
        name="return_kib",
        maximum=16384,
        minimum=0.01,
        counted="the value that `exec` returns, as JSON in UTF-8 (an array or object at least 16 bytes)",
        scope="one run",
        beyond="the run fails as `return-too-large`",
        not_covered="messages: `message_mib` and `staged_mib` bound them",
    ),
    LimitFact(
        name="log_kib",
        maximum=4096,
        minimum=0.01,
        counted="log text in UTF-8, of all levels together",
        scope="one run",
        beyond="further lines are dropped, and one line says how many",
        not_covered="what the host adds to a line: level, time, run",
    ),
    LimitFact(
        name="log_lines_count",
        maximum=20000,
        minimum=1,
        counted="calls of `system/log`, of all levels together",
        scope="one run",
        beyond="further lines are dropped, and one line says how many",
        not_covered="line breaks inside one call, which is one line however long: `log_kib` bounds it",
    ),
    LimitFact(
        name="requests_count",
        maximum=1000,
        minimum=1,
        counted="ops: HTTP requests and conversation reads",
        scope="one run",
        beyond="the op throws `too-many-requests`",
        not_covered="redirects that the host follows within one request",
    ),
    LimitFact(
        name="message_mib",
        maximum=32,
        counted="the text of a conversation message, in UTF-8",
        scope="one staged write",
        beyond="the write throws `message-too-large`",
        not_covered="messages that do not come from a script",
    ),
    LimitFact(
        name="writes_count",
        maximum=200,
        minimum=1,
        counted="staged writes",
        scope="one run",
        beyond="the write throws",
        not_covered="their size: `message_mib` and `staged_mib` bound it",
    ),
    LimitFact(
        name="staged_mib",
        maximum=64,
        counted="the text of all staged writes together, in UTF-8",
        scope="one run",
        beyond="the write throws",
        not_covered="what earlier runs committed: a conversation as a whole has no limit here",
    ),
    LimitFact(
        name="dictionary_kib",
        maximum=16384,
        minimum=1,
        counted="`dictionary` as JSON in UTF-8 (an array or object at least 16 bytes), when the run ends",
        scope="one flow run",
        beyond="the assignment passes, and the run fails at its end",
        not_covered="what it held in between: `heap_mib` bounds that",
    ),
    LimitFact(
        name="session_kib",
        maximum=16384,
        minimum=1,
        counted="`session` as JSON in UTF-8 (an array or object at least 16 bytes), when the run ends",
        scope="one session",
        beyond="the assignment passes, and the run fails at its end",
        not_covered="what it held in between: `heap_mib` bounds that",
    ),
    LimitFact(
        name="session_ttl_s",
        maximum=86400,
        counted="time since the last write of `dictionary` or `session`",
        scope="one flow run (`dictionary`), one session (`session`)",
        beyond="they are gone: the next run finds an empty object",
        not_covered="the conversation, which is kept",
    ),
    LimitFact(
        name="source_kib",
        maximum=8192,
        minimum=1,
        counted="the sources in UTF-8 of all modules that the entry reaches",
        scope="one tool",
        beyond="the tool does not start: `load-failed`",
        not_covered="the `system/*` modules, which are Keelbox's own",
    ),
    LimitFact(
        name="modules_count",
        maximum=512,
        minimum=1,
        counted="modules that the entry reaches, itself included",
        scope="one tool",
        beyond="the tool does not start: `load-failed`",
        not_covered="the `system/*` modules, which are Keelbox's own",
    ),
)

LIMIT_FACTS: Final[Mapping[str, LimitFact]] = {fact.name: fact for fact in _FACTS}
"""Every limit by name, in the order of `Limits`."""


def built_in_maximum() -> Limits:
    """Get the maximum of each limit that holds where no limits.yaml says another."""
    return Limits(**{field.name: LIMIT_FACTS[field.name].maximum for field in fields(Limits)})  # type: ignore[arg-type]
