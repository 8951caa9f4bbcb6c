"""The guest module: what it imports and exports, that its build repeats, and that it is the one of these sources."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path

import pytest
import wasmtime

from keelbox_sandbox.wasm import abi, build, engine, snapshot

WASM = engine.guest_path().read_bytes()
GUEST = Path(build.__file__).parent / "guest"


@pytest.fixture(scope="module")
def module() -> wasmtime.Module:
    return wasmtime.Module(wasmtime.Engine(), WASM)


def test_it_imports_nothing(module: wasmtime.Module) -> None:
    """B31: no WASI, no files, no environment, no sockets; the clock and the seed lie in its memory."""
    assert list(module.imports) == []


def test_exports_are_those_that_the_host_calls(module: wasmtime.Module) -> None:
    names = {item.name for item in module.exports}
    assert names == {
        "memory", "_initialize", "init", "add_module", "ready", "state_address", "start", "resume", "compile", "inspect",
    }  # fmt: skip


def test_there_is_one_ordinary_memory(module: wasmtime.Module) -> None:
    memories = [item.type for item in module.exports if isinstance(item.type, wasmtime.MemoryType)]
    assert len(memories) == 1
    assert not memories[0].is_64


def test_no_start_function_runs_by_itself() -> None:
    assert 8 not in [kind for kind, _ in snapshot._sections(WASM)]  # pyright: ignore[reportPrivateUsage]


def test_guest_is_up_to_date_with_its_sources() -> None:
    """If not: python sandbox/keelbox_sandbox/wasm/build.py."""
    assert snapshot.section(WASM, build.KEY_SECTION) == build.guest_key().encode()


def test_taken_again_it_has_the_same_bytes() -> None:
    again = snapshot.take(build.engine(), build.stdlib())
    assert snapshot.with_section(again, build.KEY_SECTION, build.guest_key().encode()) == WASM


def test_nothing_of_the_building_machine_is_in_it() -> None:
    for text in (str(build.ROOT), str(Path.home()), "/tmp/", "zig-cache", "/home/", "site-packages"):
        assert text.encode() not in WASM


def test_throwing_stdlib_is_refused_with_its_error() -> None:
    modules = build.stdlib()
    modules["keelbox:boot.js"] = "throw new RangeError('at build time');\n" + modules["keelbox:boot.js"]
    with pytest.raises(snapshot.SnapshotError, match="at build time"):
        snapshot.take(build.engine(), modules)


def test_guest_with_a_further_import_is_refused() -> None:
    other = wasmtime.wat2wasm(
        '(module (import "wasi_snapshot_preview1" "fd_write" (func)) (memory (export "memory") 1) (data (i32.const 0) "x"))'
    )
    with pytest.raises(wasmtime.WasmtimeError, match="fd_write"):
        snapshot.take(bytes(other), {})


HEADER = (GUEST / "guest.h").read_text("utf-8")


def _body(kind: str, name: str) -> str:
    found = re.search(rf"{kind} {name} \{{(.*?)\n?\}};", HEADER, re.DOTALL)
    assert found is not None, name
    return re.sub(r"/\*.*?\*/", "", found[1], flags=re.DOTALL)


def _fields(name: str) -> list[tuple[str, int]]:
    """Names and sizes in bytes of a struct's fields, in order; an array of u32 is as many fields: part1_bytes, …."""
    fields: list[tuple[str, int]] = []
    for declaration in filter(None, (part.strip() for part in _body("struct", name).split(";"))):
        kind, _, names = declaration.partition(" ")
        for each in names.split(","):
            label, _, count = each.strip().partition("[")
            if kind == "uint8_t":
                fields.append((label, int(count.rstrip("]") or 1)))
            elif count:
                numbers = range(1, int(count.rstrip("]")) + 1)
                fields += [(label.replace("_bytes", f"{number}_bytes"), 4) for number in numbers]
            else:
                fields.append((label, 4))
    return fields


def _enumerators(name: str) -> dict[str, int]:
    values: dict[str, int] = {}
    following = 0
    for each in filter(None, (part.strip() for part in _body("enum", name).split(","))):
        label, _, value = (part.strip() for part in each.partition("="))
        following = int(value) if value else following
        values[label] = following
        following += 1
    return values


def test_state_block_is_that_of_the_header() -> None:
    fields = _fields("state")
    names = [name for name, _ in fields]
    assert names == list(abi.State._fields)
    assert sum(size for _, size in fields) == abi.STATE_BYTES
    assert 4 * names.index("interrupt") == abi.INTERRUPT_OFFSET


def test_state_block_is_read_in_order() -> None:
    numbers = range(1, abi.STATE_BYTES // 4 + 1)
    state = abi.State.unpack(b"".join(number.to_bytes(4, "little") for number in numbers))
    assert list(state) == list(numbers)
    assert state.part_bytes == (state.part1_bytes, state.part2_bytes, state.part3_bytes)


def test_start_header_is_that_of_the_header_file() -> None:
    fields = _fields("start_header")
    ours = [each.name for each in dataclasses.fields(abi.StartHeader) if each.init]
    assert [name for name, _ in fields] == [*ours, "seed", "modules_count", "call_bytes"]
    assert sum(size for _, size in fields) == abi.HEADER_BYTES
    values = {name: number for number, name in enumerate(ours, start=1)}
    packed = abi.StartHeader(**values).pack(b"s" * 32, 98, 99)
    assert packed[: 4 * len(ours)] == b"".join(number.to_bytes(4, "little") for number in values.values())
    assert packed[4 * len(ours) :] == b"s" * 32 + (98).to_bytes(4, "little") + (99).to_bytes(4, "little")


@pytest.mark.parametrize(
    ("name", "prefix", "values"),
    [("phase", "PHASE_", abi.Phase), ("failure", "FAIL_", abi.Failure), ("record", "RECORD_", abi.Record)],
)
def test_enumerations_are_those_of_the_header(name: str, prefix: str, values: type[abi.Phase]) -> None:
    theirs = {label.removeprefix(prefix): value for label, value in _enumerators(name).items()}
    assert sorted(theirs.values()) == sorted(each.value for each in values)
    ours = {each.name: each.value for each in values}
    assert {k: v for k, v in ours.items() if k in theirs} == {k: v for k, v in theirs.items() if k in ours}


def test_version_is_that_of_the_header() -> None:
    assert f"#define ABI_VERSION {abi.ABI_VERSION}\n" in HEADER
