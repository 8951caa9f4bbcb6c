"""``keelbox doctor``: it really tries the walls, and says so when one does not hold."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from tests.host.cli.conftest import Keelbox

from keelbox.cli.health import Cache, Health
from keelbox.cli.versions import Version
from keelbox.cli.walls import Wall, try_walls
from keelbox_sandbox.contract import Call, Event, Limits, Perform, RunResult, Script
from keelbox_sandbox.wasm import WasmSandbox


def test_this_machine_is_sound(keelbox: Keelbox) -> None:
    done = keelbox("doctor", "--json")
    document = done.document
    assert (done.code, document["status"], document["code"]) == (0, "ok", None)
    assert [each for each in document["walls"] if not each["held"]] == []
    assert len(document["walls"]) == 12
    floors = {each["name"]: each["floor"] for each in document["versions"]}
    assert (floors["wasmtime"], floors["quickjs-ng"]) == ("46.0.2", "0.16.2")
    assert [(cache["name"], cache["mode"], cache["ok"]) for cache in document["caches"]] == [("code", "0700", True)]


def test_person_reads_one_line_for_each(keelbox: Keelbox) -> None:
    done = keelbox("doctor")
    assert done.err == ""
    assert "  ok  cpu_s: inside a built-in too" in done.out
    assert "BAD" not in done.out


class Ajar(WasmSandbox):
    """A sandbox with holes: it takes ten times the limits, and leaves a global behind."""

    async def run(
        self,
        script: Script,
        call: Call,
        limits: Limits,
        perform: Perform,
        observe: Callable[[Event], None] | None = None,
    ) -> RunResult:
        loose = replace(limits, cpu_s=limits.cpu_s * 4, heap_mib=limits.heap_mib * 4)
        head = "globalThis.fetch = 1; globalThis.left = 1;\n"
        holed = Script(entry=script.entry, modules={name: head + text for name, text in script.modules.items()})
        return await super().run(holed, call, loose, perform, observe)


@pytest.mark.anyio
async def test_wall_that_does_not_hold_is_found() -> None:
    async with Ajar() as sandbox:
        fallen = [wall.name.partition(":")[0] for wall in await try_walls(sandbox) if not wall.held]
    assert fallen == ["cpu_s"] * 4 + ["heap_mib"] * 2 + ["globals", "runs"]


GOOD = Health(
    versions=[Version(name="wasmtime", version="46.0.2", floor="46.0.2"), Version(name="keelbox", version="unknown")],
    caches=[Cache(name="code", path="/x", bytes_count=1, mode=0o755, own=True)],
    walls=[Wall(name="w", held=True, detail="d", ms=1.0)],
)


def test_good_health() -> None:
    assert GOOD.sound


@pytest.mark.parametrize(
    "ill",
    [
        replace(GOOD, versions=[Version(name="wasmtime", version="46.0.1", floor="46.0.2")]),
        replace(GOOD, versions=[Version(name="wasmtime", version="unknown", floor="46.0.2")]),
        replace(GOOD, caches=[replace(GOOD.caches[0], mode=0o775)]),
        replace(GOOD, caches=[replace(GOOD.caches[0], mode=0o707)]),
        replace(GOOD, caches=[replace(GOOD.caches[0], own=False)]),
        replace(GOOD, walls=[replace(GOOD.walls[0], held=False)]),
    ],
)
def test_ill_health_is_told(ill: Health, capsys: pytest.CaptureFixture[str]) -> None:
    assert not ill.sound
    assert ill.document()["code"] == "unsound"
    ill.show()
    assert capsys.readouterr().out.count("BAD") == 1


def test_cache_folder_open_to_others_fails(keelbox: Keelbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache").chmod(0o777)
    monkeypatch.setenv("KEELBOX_CACHE", str(tmp_path / "cache"))
    done = keelbox("doctor", "--json")
    assert (done.code, done.document["caches"][0]["mode"]) == (1, "0777")
