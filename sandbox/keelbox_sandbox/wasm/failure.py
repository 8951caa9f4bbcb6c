"""From what the guest left behind to the failure that its author reads: code, message, hint, stack, line."""

from __future__ import annotations

import re
from collections.abc import Container
from dataclasses import dataclass

from keelbox_sandbox.contract import FailureCode, Limits

from .abi import Failure, State
from .isolate import CrashError, Stop

__all__ = ["MISSING_HINTS", "RunFailure", "from_crash", "from_report", "from_stop", "unmakeable"]

_TEXT_CHARACTERS = 16384
_FRAME = re.compile(r"^\s*at (?:(?P<name>.*?) \()?(?P<file>[^()\s][^()]*?):(?P<line>\d{1,7}):(?P<column>\d{1,7})\)?$")

_CODES = {
    Failure.THREW: FailureCode.THREW,
    Failure.LOAD: FailureCode.LOAD_FAILED,
    Failure.NO_EXEC: FailureCode.NO_EXEC,
    Failure.NOT_CLONEABLE: FailureCode.RETURN_NOT_CLONEABLE,
    Failure.RETURN_TOO_LARGE: FailureCode.RETURN_TOO_LARGE,
    Failure.DETACHED_OP: FailureCode.DETACHED_OP,
    Failure.UNHANDLED: FailureCode.UNHANDLED_REJECTION,
    Failure.DEADLOCK: FailureCode.DEADLOCK,
    Failure.DICTIONARY: FailureCode.RETURN_TOO_LARGE,
    Failure.SESSION: FailureCode.RETURN_TOO_LARGE,
}

MISSING_HINTS = {
    "fetch": "use system/http: import Http from 'system/http'; await Http.get(url)",
    "XMLHttpRequest": "use system/http: import Http from 'system/http'; await Http.get(url)",
    "require": "there are no packages: import system/* or your own files, like import { x } from './x.js'",
    "module": "this is an ES module: write export const exec = …",
    "exports": "this is an ES module: write export const exec = …",
    "process": "there is no process or environment: settings come with exec's input",
    "setTimeout": "there are no timers: wait for a request instead, or just go on",
    "setInterval": "there are no timers: wait for a request instead, or just go on",
    "setImmediate": "there are no timers: use queueMicrotask or await",
    "crypto": "use system/tools: import Tools from 'system/tools'; Tools.generateUUID()",
    "console": "use system/log: import Log from 'system/log'; Log.info(…)",
    "Buffer": "use Uint8Array with TextEncoder and TextDecoder, or atob and btoa",
    "window": "there is no page: the global object is globalThis",
    "document": "there is no page: the global object is globalThis",
    "self": "the global object is globalThis",
    "global": "the global object is globalThis",
    "__dirname": "there is no file system: import your own files",
    "WebAssembly": "there is no WebAssembly inside the sandbox",
    "performance": "use Date.now(); it counts whole milliseconds",
}
_UNDEFINED = re.compile(r"^'?(?P<name>[\w$]+)'? is not defined$")
_PACKAGE = re.compile(r"cannot import '(?P<name>[^']*)'")
_PACKAGE_HINTS = {
    "axios": "use system/http", "node-fetch": "use system/http", "undici": "use system/http", "got": "use system/http",
    "http": "use system/http", "https": "use system/http", "crypto": "use system/tools", "uuid": "use system/tools",
    "winston": "use system/log", "console": "use system/log",
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFailure:
    """A failure as `keelbox_sandbox.contract.RunResult` carries it."""

    code: FailureCode
    message: str
    hint: str | None = None
    stack: str | None = None
    location: tuple[str, int, int] | None = None


def from_report(
    state: State, texts: list[bytes], stop: Stop | None, limits: Limits, modules: Container[str]
) -> RunFailure:
    """What the guest itself reported: error name (or which value), message and stack."""
    name, message, stack = (text.decode("utf-8", "replace")[:_TEXT_CHARACTERS] for text in texts)
    shown, location = _frames(stack, modules)
    if state.failure == Failure.INTERRUPTED:
        if stop is None:
            return RunFailure(code=FailureCode.SANDBOX_CRASHED, message="the guest stopped by itself")
        return from_stop(stop, limits, shown, location)
    try:
        failure = Failure(state.failure)
        code = _CODES[failure]
    except (ValueError, KeyError):
        return RunFailure(
            code=FailureCode.SANDBOX_CRASHED, message=f"the guest reported an unknown failure ({state.failure})"
        )
    hint: str | None = None
    if (
        failure in (Failure.THREW, Failure.LOAD, Failure.UNHANDLED)
        and state.memory_refusals_count
        and "out of memory" in message
    ):
        return _memory(limits, shown, location)
    if failure in (Failure.THREW, Failure.LOAD, Failure.UNHANDLED):
        if failure == Failure.THREW and name == "ToolRefusedError":
            code = FailureCode.REFUSED
            text = message or "the tool refused"
        else:
            text = f"{name}: {message}" if name and message else name or message or "Error"
            hint = _hint(name, message, failure)
    elif failure == Failure.NOT_CLONEABLE:
        text = (
            f"exec returned what is not JSON: {message}"
            if name == "value"
            else f"{name} holds what is not JSON: {message}"
        )
        hint = "return plain objects, arrays, texts, numbers, booleans and null"
    elif failure == Failure.RETURN_TOO_LARGE:
        text = f"the returned value is more than {limits.return_kib:g} KiB as JSON (return_kib)"
        hint = "return a short value; an answer for the agent goes through Agent.setRootAgentPrompt"
    elif failure in (Failure.DICTIONARY, Failure.SESSION):
        limit = "dictionary_kib" if failure == Failure.DICTIONARY else "session_kib"
        text = f"{name} is more than {getattr(limits, limit):g} KiB as JSON ({limit})"
        hint = f"keep only what the next run needs in {name}"
    elif failure == Failure.NO_EXEC:
        text = message
        hint = "write: export const exec = async (input, ambient, ctx) => { … };"
    elif failure == Failure.DETACHED_OP:
        text = message
        hint = "put await before the call, and return after it"
    else:
        text = message
        hint = "a promise that nobody resolves was awaited: look for new Promise without a call of resolve"
    return RunFailure(code=code, message=text, hint=hint, stack=shown, location=location)


def from_stop(
    stop: Stop, limits: Limits, stack: str | None = None, location: tuple[str, int, int] | None = None
) -> RunFailure:
    """The host cut the run."""
    if stop.reason == "cpu-exceeded":
        text = f"the script used more than {limits.cpu_s:g} s of processor time (cpu_s)"
        hint = "look for an endless loop or a regular expression that backtracks; large work needs a higher cpu_s"
    elif stop.reason == "time-exceeded":
        text = f"the run took longer than {limits.wall_s:g} s, waiting included (wall_s)"
        hint = "give requests a timeoutMs, or ask for a higher wall_s"
    elif stop.reason == "silent":
        text = "the run made no progress for longer than it may (max_silence_s)"
        hint = "call ctx.progress between the steps of long work"
    else:
        text, hint = "the run was cancelled", None
    return RunFailure(code=FailureCode(stop.reason), message=text, hint=hint, stack=stack, location=location)


def from_crash(error: CrashError, state: State | None, stop: Stop | None, limits: Limits) -> RunFailure:
    """The guest trapped, or what it said cannot be."""
    if stop is not None:
        return from_stop(stop, limits)
    if state is not None and state.memory_refusals_count:
        return _memory(limits, None, None)
    text = str(error)
    if "call stack exhausted" in text:
        return RunFailure(
            code=FailureCode.THREW,
            message="RangeError: the native call stack is exhausted",
            hint="look for recursion without an end",
        )
    return RunFailure(
        code=FailureCode.SANDBOX_CRASHED,
        message="the sandbox crashed",
        hint=text.splitlines()[0][:200] if text else None,
    )


def unmakeable(error: CrashError) -> RunFailure:
    """There is no memory or address space for another instance."""
    return RunFailure(
        code=FailureCode.SANDBOX_CRASHED,
        message=f"the sandbox could not be made: {str(error).splitlines()[0][:200]}",
        hint="this machine is short of memory or address space: run fewer tools at once",
    )


def _memory(limits: Limits, stack: str | None, location: tuple[str, int, int] | None) -> RunFailure:
    return RunFailure(
        code=FailureCode.MEMORY_EXCEEDED,
        message=f"the script needs more than {limits.heap_mib:g} MiB of memory (heap_mib)",
        hint="ask for less at once: set a limit or page size on requests, and work in pieces",
        stack=stack,
        location=location,
    )


def _hint(name: str, message: str, failure: Failure) -> str | None:
    if found := _UNDEFINED.match(message):
        return MISSING_HINTS.get(found["name"])
    if found := _PACKAGE.search(message):
        package = found["name"].removeprefix("node:")
        return _PACKAGE_HINTS.get(package)
    if name == "RangeError" and "call stack" in message:
        return "look for recursion without an end; the limit is stack_kib"
    if "[buffer-busy]" in message:
        return "requests share one buffer: await each call before the next, without Promise.all"
    if name == "HttpError" and "[denied]" in message:
        return (
            "a rule on hosts, addresses, ports or methods forbids it; the request's line in the certificate says which"
        )
    if failure == Failure.UNHANDLED:
        return "a promise was rejected and nobody waited for it: await every call, or add a catch"
    return None


def _frames(stack: str, modules: Container[str]) -> tuple[str | None, tuple[str, int, int] | None]:
    """The frames of the author's own files, as text, and the first as a place."""
    lines: list[str] = []
    place: tuple[str, int, int] | None = None
    for line in stack.splitlines():
        found = _FRAME.match(line)
        if found is None or found["file"] not in modules:
            continue
        where = (found["file"], int(found["line"]), int(found["column"]))
        place = place or where
        name = found["name"]
        lines.append(
            f"    at {name} ({where[0]}:{where[1]}:{where[2]})" if name else f"    at {where[0]}:{where[1]}:{where[2]}"
        )
    return "\n".join(lines) or None, place
