"""The snapshot: runs the guest's initialisation once and writes its memory back into the module as data segments.

A new instance of the result starts initialised, and the pages come copy-on-write from one image. The bytes are
reproducible: the clock stands still and the random source gives zeros while the snapshot is made, and nothing of either
is kept (each run is seeded by its host).

The module must have one memory and no globals that initialisation changes, other than the stack pointer, which is back
at its start when a call has returned. Both are checked.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

__all__ = ["SnapshotError", "section", "take", "with_section"]

STACK_BYTES = 2097152
"""The C stack lies at the bottom of memory; build.py links it with this size."""

_PAGE_BYTES = 4096
_SCRATCH_BYTES = 1 << 20
_MEMORY_PAGE_BYTES = 65536

_IMPORTS = re.compile(r"""^(?:(?:import|export)\s[^;'"]*?\bfrom\s*|import\s+)['"]([^'"]+)['"]""", re.MULTILINE)

_CUSTOM, _MEMORY, _START, _DATA, _DATA_COUNT = 0, 5, 8, 11, 12


class SnapshotError(Exception):
    """The guest cannot be initialised, or is not of the expected shape."""


def take(raw: bytes, modules: Mapping[str, str]) -> bytes:
    """Give the snapshotted module.

    Args:
        raw: the guest as it was compiled.
        modules: the stdlib's sources by internal name (``system/http``, ``keelbox:boot.js``).

    Raises:
        SnapshotError: the guest or a module of the stdlib failed; the message has the engine's own text.
    """
    import wasmtime

    store = wasmtime.Store(wasmtime.Engine())
    linker = wasmtime.Linker(store.engine)
    exports = linker.instantiate(store, wasmtime.Module(store.engine, raw)).exports(store)
    memory = exports["memory"]
    assert isinstance(memory, wasmtime.Memory)  # noqa: S101

    def call(name: str, *arguments: int) -> int:
        function = exports[name]
        assert isinstance(function, wasmtime.Func)  # noqa: S101
        result = function(store, *arguments)
        return result if isinstance(result, int) else 0

    call("_initialize")
    code = call("init")
    if code != 0:
        raise SnapshotError(f"the engine could not be made (init gave {code})")
    # Texts go through memory of their own, which stays unused (and zero) afterwards.
    scratch = memory.grow(store, _SCRATCH_BYTES // _MEMORY_PAGE_BYTES) * _MEMORY_PAGE_BYTES
    for name in _in_order(modules):
        source = modules[name].encode()
        text = name.encode() + b"\0" + source + b"\0"
        if len(text) > _SCRATCH_BYTES:
            raise SnapshotError(f"{name} is larger than {_SCRATCH_BYTES} bytes")
        memory.write(store, text, scratch)
        if call("add_module", scratch, len(source)) != 0:
            break
    if call("ready", scratch, _SCRATCH_BYTES) != 0:
        text = bytes(memory.read(store, scratch, scratch + 60000)).split(b"\0")[0]
        raise SnapshotError(f"the stdlib failed: {text.decode('utf-8', 'replace')}")
    # No call is open, so the stack is dead: as zeros, its pages are cheaper for each run than copies of old frames.
    image = bytes(STACK_BYTES) + bytes(memory.read(store, STACK_BYTES, memory.data_len(store)))
    return _rewrite(raw, image)


def _in_order(modules: Mapping[str, str]) -> Iterator[str]:
    """Dependencies first."""
    done: set[str] = set()

    def visit(name: str, above: tuple[str, ...]) -> Iterator[str]:
        if name in done or name not in modules:
            return
        if name in above:
            raise SnapshotError(f"the stdlib imports in a circle: {' → '.join((*above, name))}")
        for imported in _IMPORTS.findall(modules[name]):
            yield from visit(_resolved(name, imported), (*above, name))
        done.add(name)
        yield name

    for name in sorted(modules):
        yield from visit(name, ())


def _resolved(base: str, name: str) -> str:
    """The same rule as modules.c has before the stdlib is sealed."""
    if not name.startswith("."):
        return name
    parts = base.removeprefix("keelbox:").split("/")[:-1]
    for part in name.split("/"):
        if part == "..":
            parts.pop()
        elif part != ".":
            parts.append(part)
    return "keelbox:" + "/".join(parts)


def _rewrite(raw: bytes, image: bytes) -> bytes:
    pages = len(image) // _MEMORY_PAGE_BYTES
    segments = list(_segments(image))
    data = _uleb(len(segments)) + b"".join(
        b"\0\x41" + _sleb(start) + b"\x0b" + _uleb(len(part)) + part for start, part in segments
    )
    out = bytearray(raw[:8])
    seen: set[int] = set()
    for kind, body in _sections(raw):
        seen.add(kind)
        if kind in (_START, _CUSTOM):
            continue
        new = body
        if kind == _MEMORY:
            new = _memory(body, pages)
        elif kind == _DATA_COUNT:
            new = _uleb(len(segments))
        elif kind == _DATA:
            new = data
        out += bytes([kind]) + _uleb(len(new)) + new
    if _MEMORY not in seen or _DATA not in seen:
        raise SnapshotError("the guest has no memory or no data of its own")
    return bytes(out)


def _segments(image: bytes) -> Iterator[tuple[int, bytes]]:
    start: int | None = None
    zero = bytes(_PAGE_BYTES)
    for at in range(0, len(image) + _PAGE_BYTES, _PAGE_BYTES):
        page = image[at : at + _PAGE_BYTES]
        if page and page != zero[: len(page)]:
            start = at if start is None else start
        elif start is not None:
            yield start, image[start:at].rstrip(b"\0")
            start = None


def _memory(body: bytes, pages: int) -> bytes:
    count, at = _read_uleb(body, 0)
    if count != 1 or body[at] not in (0, 1):
        raise SnapshotError("the guest must have exactly one ordinary memory")
    minimum, end = _read_uleb(body, at + 1)
    return _uleb(1) + bytes([body[at]]) + _uleb(max(minimum, pages)) + body[end:]


def _sections(wasm: bytes) -> Iterator[tuple[int, bytes]]:
    at = 8
    while at < len(wasm):
        size, start = _read_uleb(wasm, at + 1)
        yield wasm[at], wasm[start : start + size]
        at = start + size


def with_section(wasm: bytes, name: str, content: bytes) -> bytes:
    """Append a custom section."""
    body = _uleb(len(name)) + name.encode() + content
    return wasm + bytes([_CUSTOM]) + _uleb(len(body)) + body


def section(wasm: bytes, name: str) -> bytes | None:
    """The content of a custom section, None if there is none of that name."""
    for kind, body in _sections(wasm):
        if kind == _CUSTOM:
            size, at = _read_uleb(body, 0)
            if body[at : at + size] == name.encode():
                return body[at + size :]
    return None


def _read_uleb(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if not byte & 0x80:
            return value, at


def _uleb(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def _sleb(value: int) -> bytes:
    out = bytearray()
    while not -0x40 <= value < 0x40:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value & 0x7F)
    return bytes(out)
