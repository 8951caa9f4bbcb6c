"""What a sandbox takes and gives: the whole contract between ``keelbox_sandbox`` and its user.

Glossary:
    script: a tool's modules by name, with an entry module that exports ``exec``.
    run: one execution of a script in one fresh sandbox.
    op: one request that a suspended script makes of the host; at most one is open in a run.
    write: a conversation message that the script asked for; nothing is written by the sandbox itself.

Invariants that every runtime keeps:
    1. ``run`` returns a `RunResult` for whatever the script does; it raises only when it was cancelled, or
       what ``observe`` raised.
    2. Logs and writes are reported in the order in which the script made them, also when the run was cut.
    3. Nothing of one run is visible in another.
    4. ``perform`` is awaited on the caller's event loop and never twice at once for one run.
"""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Literal, Protocol, TypeAlias

__all__ = [
    "Call",
    "Event",
    "FailureCode",
    "Inspection",
    "Limits",
    "LogLevel",
    "LogLine",
    "Op",
    "OpError",
    "Perform",
    "Progress",
    "RefusedOp",
    "Reply",
    "RunResult",
    "Sandbox",
    "Script",
    "ScriptError",
    "Usage",
    "Write",
]

MIB = 1024 * 1024
KIB = 1024


class FailureCode(StrEnum):
    """Why a run was not clean: a closed set, the same for every runtime."""

    LOAD_FAILED = "load-failed"
    NO_EXEC = "no-exec"
    THREW = "threw"
    REFUSED = "refused"
    RETURN_NOT_CLONEABLE = "return-not-cloneable"
    RETURN_TOO_LARGE = "return-too-large"
    DETACHED_OP = "detached-op"
    UNHANDLED_REJECTION = "unhandled-rejection"
    DEADLOCK = "deadlock"
    SESSION_CONFLICT = "session-conflict"
    MEMORY_EXCEEDED = "memory-exceeded"
    CPU_EXCEEDED = "cpu-exceeded"
    TIME_EXCEEDED = "time-exceeded"
    SILENT = "silent"
    CANCELLED = "cancelled"
    SANDBOX_CRASHED = "sandbox-crashed"
    HOST_ERROR = "host-error"


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """The limits of one run, in the units of their names.

    ``limits.yaml`` and ``docs/reference/limits.md`` say of each what is counted and what the script sees beyond it;
    a test holds all three together.
    """

    heap_mib: float = 30
    buffer_mib: float = 10
    stack_kib: float = 512
    cpu_s: float = 5
    wall_s: float = 60
    return_kib: float = 1024
    log_kib: float = 256
    log_lines_count: int = 1000
    requests_count: int = 100
    message_mib: float = 8
    writes_count: int = 20
    staged_mib: float = 16
    dictionary_kib: float = 1536
    session_kib: float = 1536
    session_ttl_s: float = 60
    source_kib: float = 1024
    modules_count: int = 64

    @property
    def heap_bytes(self) -> int:
        """Bytes of ``heap_mib``."""
        return int(self.heap_mib * MIB)

    @property
    def buffer_bytes(self) -> int:
        """Bytes of ``buffer_mib``."""
        return int(self.buffer_mib * MIB)

    @property
    def ceiling_bytes(self) -> int:
        """The most memory that one run may make the host hold.

        The guest's heap; and the buffer, staged writes and logs twice, because the host takes a copy of each.
        """
        return self.heap_bytes + 2 * (self.buffer_bytes + int(self.staged_mib * MIB) + int(self.log_kib * KIB))


@dataclass(frozen=True, slots=True, kw_only=True)
class Script:
    """A tool's modules by name, complete: every module that a static import reaches.

    Names are relative paths with forward slashes, as the author sees them (``weather.js``, ``lib/units.js``).
    """

    entry: str
    modules: Mapping[str, str]
    compile_cpu_s: float = field(default=0.0, compare=False)
    """Processor time that `Sandbox.gather` took to compile them; part of what the first run may use."""
    digest: str = field(init=False, default="")

    def __post_init__(self) -> None:
        """Hash the names and sources: the key of everything that is cached for this script."""
        digest = hashlib.sha256(self.entry.encode("utf-8", "surrogatepass"))
        for name in sorted(self.modules):
            for part in (name, self.modules[name]):
                data = part.encode("utf-8", "surrogatepass")
                digest.update(len(data).to_bytes(8, "little"))
                digest.update(data)
        object.__setattr__(self, "digest", digest.hexdigest())


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """What one run is given. All values are plain JSON values; the run gets its own copy of each."""

    input: Any = None
    """First argument of ``exec``."""
    ambient: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Second argument of ``exec``, frozen in the guest."""
    tool_options: Mapping[str, Any] = field(default_factory=dict[str, Any])
    flow_context: Mapping[str, Any] = field(default_factory=dict[str, Any])
    dictionary: Mapping[str, Any] = field(default_factory=dict[str, Any])
    session: Mapping[str, Any] = field(default_factory=dict[str, Any])


@dataclass(frozen=True, slots=True, kw_only=True)
class Write:
    """A conversation message that the script staged. Untrusted text; ``bytes_count`` is its size in UTF-8."""

    agent_id: str
    session_id: str
    request_id: str
    content: str
    bytes_count: int


LogLevel: TypeAlias = Literal["error", "warning", "info", "debug"]


@dataclass(frozen=True, slots=True, kw_only=True)
class LogLine:
    """One call of ``system/log``. Untrusted text; may hold several lines and control characters."""

    level: LogLevel
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """One call of ``ctx.progress``: a JSON value."""

    data: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class RefusedOp:
    """An op that the sandbox refused by itself (``buffer-busy``, ``too-many-requests``, ``request-too-large``).

    Of one run at most 1,000 are told, the first; method and URL may be shortened.
    """

    kind: str
    method: str
    url: str
    code: str


Event: TypeAlias = LogLine | Write | Progress | RefusedOp


@dataclass(frozen=True, slots=True, kw_only=True)
class Op:
    """One request of the script, exactly as it crossed the wall: every field is untrusted.

    kind ``http``: head ``{"method", "url", "headers": {name: value}, "timeoutMs": number | null}``; the body is what is
    to be sent.

    kind ``agent``: head ``{"read": "messages" | "last-reply", "agentId", "sessionID", "last": int | null}``; no body.
    """

    number: int
    """1 for the first op of the run."""
    kind: Literal["http", "agent"]
    head: Mapping[str, Any]
    body: bytes = field(repr=False)
    writes: Sequence[Write]
    """What the run has staged so far (a read sees its own run's writes)."""
    room_bytes: int
    """The exchange buffer's size: a larger ``Reply.body`` is refused as ``response-too-large``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """The host's answer to an op.

    http: head ``{"status": int, "headers": {lower-case name: value}, "url": str}``, body = the decoded bytes.
    agent: head ``{}``, body = the JSON text of the value.
    """

    head: Mapping[str, Any]
    body: bytes | bytearray | memoryview = field(default=b"", repr=False)


class OpError(Exception):
    """The op failed in a way that the script may see: it rejects the guest's promise.

    Attributes:
        code: what the guest's error carries as ``code`` (for http: `denied`, `timeout`, `dns-failed`, `connect-failed`,
            `tls-failed`, `protocol-error`, `response-too-large`, `request-invalid`, …).
        message: fixed text; must hold no address, path, secret or host detail.
    """

    def __init__(self, code: str, message: str) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code
        self.message = message


Perform: TypeAlias = Callable[[Op], Awaitable[Reply]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """What one run used."""

    cpu_s: float = 0.0
    wall_s: float = 0.0
    peak_heap_bytes: int = 0
    buffer_peak_bytes: int = 0
    requests_count: int = 0
    bytes_in: int = 0
    bytes_out: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class RunResult:
    """How one run ended.

    ``code`` is None exactly on a clean return; then ``value``, ``dictionary`` and ``session`` are the script's.
    ``message``, ``hint`` and ``stack`` speak of the author's source only.
    """

    code: FailureCode | None
    message: str | None = None
    hint: str | None = None
    stack: str | None = None
    location: tuple[str, int, int] | None = None
    """Module name, line and column (from 1) in the author's source, where they are known."""
    value: Any = None
    dictionary: Mapping[str, Any] | None = None
    session: Mapping[str, Any] | None = None
    writes: tuple[Write, ...] = ()
    logs: tuple[LogLine, ...] = ()
    refused_ops: tuple[RefusedOp, ...] = ()
    usage: Usage = field(default_factory=Usage)
    walls: tuple[str, ...] = ()
    """Which walls held in this run, e.g. ``wasm``, ``heap-limit``, ``memory-maximum``, ``interrupt``, ``epoch``."""


class ScriptError(Exception):
    """A script cannot be loaded.

    Attributes:
        code: ``load-failed``, or the limit that was hit while compiling.
        message, hint, location: as in `RunResult`.
        cpu_s: processor time that was used until then.
    """

    def __init__(
        self,
        code: FailureCode,
        message: str,
        *,
        hint: str | None = None,
        location: tuple[str, int, int] | None = None,
        cpu_s: float = 0.0,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.hint = hint
        self.location = location
        self.cpu_s = cpu_s


@dataclass(frozen=True, slots=True, kw_only=True)
class Inspection:
    """What can be known of one module without running it."""

    imports: tuple[str, ...]
    """Names of the tool's own modules that it imports statically, resolved against its own name."""
    exports: tuple[str, ...]


class Sandbox(Protocol):
    """One way to run scripts behind a wall. Safe to share between tasks of one event loop."""

    name: str

    async def gather(self, entry: str, read: Callable[[str], str | None], limits: Limits) -> Script:
        """Collect the modules that ``entry`` reaches.

        Args:
            entry: the entry module's name.
            read: gives the source of a module by name, None if there is no such module. The sandbox asks only for
                confined names (no ``..``, no absolute path); symlinks are the reader's business.
            limits: ``source_kib``, ``modules_count`` and the compile-time walls.

        Raises:
            ScriptError: a module is missing, does not parse, or is over a limit.
        """
        ...

    async def inspect(self, script: Script, limits: Limits) -> Mapping[str, Inspection]:
        """Parse each module of a script and say what it imports and exports.

        Raises:
            ScriptError: as `gather`.
        """
        ...

    async def run(
        self,
        script: Script,
        call: Call,
        limits: Limits,
        perform: Perform,
        observe: Callable[[Event], None] | None = None,
    ) -> RunResult:
        """Run a script once in a fresh sandbox.

        Args:
            script: what to run.
            call: what it is given.
            limits: what it may use.
            perform: carries out one op. Raises `OpError` for what the script may know; anything else that it raises
                ends the run as ``host-error``.
            observe: told of each log line, staged write, progress and refused op, in order, before the next op is
                performed and before ``run`` returns. If it raises, the run is ended and ``run`` raises the same.

        A cancelled ``run`` stops the guest first, then lets the cancellation through; nothing is left behind.
        """
        ...

    async def aclose(self) -> None:
        """End the threads and processes of this sandbox. Blocks until open runs have ended."""
        ...
