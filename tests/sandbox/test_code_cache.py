"""Compiled code on disk is native code: taken only where nobody else can have put it, and only whole."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from keelbox_sandbox.wasm import code_cache

NAME = "guest-x.code"
CODE = b"native code" * 1000


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "cache"
    made.mkdir(mode=0o700)
    assert code_cache.store(made, NAME, CODE)
    assert code_cache.load(made, NAME) == CODE
    return made


def test_file_is_for_its_owner_only(folder: Path) -> None:
    assert (folder / NAME).stat().st_mode & 0o777 == 0o600
    assert [path.name for path in folder.iterdir()] == [NAME]


def test_folder_is_made_for_its_owner_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KEELBOX_CACHE", str(tmp_path / "deep" / "cache"))
    before = os.umask(0)
    try:
        made = code_cache.find_cache_folder()
    finally:
        os.umask(before)
    assert made is not None and made == tmp_path / "deep" / "cache"
    assert made.stat().st_mode & 0o777 == 0o700


def test_missing_is_none(folder: Path) -> None:
    assert code_cache.load(folder, "guest-y.code") is None
    assert code_cache.load(folder / "absent", NAME) is None


@pytest.mark.parametrize("at", [0, 5, 20, 60, -1])
def test_changed_byte_is_noticed(folder: Path, at: int) -> None:
    data = bytearray((folder / NAME).read_bytes())
    data[at] ^= 1
    (folder / NAME).write_bytes(data)
    assert code_cache.load(folder, NAME) is None


@pytest.mark.parametrize("keep_bytes", [0, 10, 40, 1000])
def test_short_file_is_noticed(folder: Path, keep_bytes: int) -> None:
    os.truncate(folder / NAME, keep_bytes)
    assert code_cache.load(folder, NAME) is None


def test_appended_bytes_are_noticed(folder: Path) -> None:
    with (folder / NAME).open("ab") as file:
        file.write(b"x")
    assert code_cache.load(folder, NAME) is None


@pytest.mark.parametrize("mode", [0o770, 0o707, 0o777, 0o720, 0o702, 0o1777])
def test_folder_that_others_can_write_to_is_not_trusted(folder: Path, mode: int) -> None:
    folder.chmod(mode)
    assert code_cache.load(folder, NAME) is None


@pytest.mark.parametrize("mode", [0o660, 0o606, 0o666])
def test_file_that_others_can_write_to_is_not_trusted(folder: Path, mode: int) -> None:
    (folder / NAME).chmod(mode)
    assert code_cache.load(folder, NAME) is None


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
@pytest.mark.parametrize("part", ["", NAME])
def test_what_belongs_to_another_user_is_not_trusted(folder: Path, part: str) -> None:
    os.chown(folder / part, 65534, 65534)
    assert code_cache.load(folder, NAME) is None


def test_symlink_is_not_trusted(folder: Path, tmp_path: Path) -> None:
    (folder / NAME).rename(tmp_path / "elsewhere")
    (folder / NAME).symlink_to(tmp_path / "elsewhere")
    assert code_cache.load(folder, NAME) is None


def test_pipe_in_its_place_does_not_hang(folder: Path) -> None:
    (folder / NAME).unlink()
    os.mkfifo(folder / NAME, 0o600)
    assert code_cache.load(folder, NAME) is None


def test_storing_replaces_what_is_there(folder: Path, tmp_path: Path) -> None:
    (folder / NAME).unlink()
    (tmp_path / "victim").write_bytes(b"untouched")
    (folder / NAME).symlink_to(tmp_path / "victim")
    assert code_cache.store(folder, NAME, CODE)
    assert (tmp_path / "victim").read_bytes() == b"untouched"
    assert code_cache.load(folder, NAME) == CODE


def test_folder_that_cannot_be_written_is_no_error(tmp_path: Path) -> None:
    assert code_cache.store(tmp_path / "absent", NAME, CODE) is False


def test_name_depends_on_module_and_version() -> None:
    names = {code_cache.name_for(wasm, version) for wasm in (b"a", b"b") for version in ("1", "2")}
    assert len(names) == 4


PROGRAM = """
import anyio
from keelbox_sandbox.contract import Call, Limits, Script
from keelbox_sandbox.wasm import WasmSandbox
from keelbox_sandbox.wasm.engine import get_engine

async def main():
    async with WasmSandbox() as sandbox:
        script = Script(entry="t.js", modules={"t.js": "export const exec = () => 'ran';"})
        result = await sandbox.run(script, Call(), Limits(), None)
        print(result.value, get_engine().code_from)

anyio.run(main)
"""


def in_a_process(cache: Path) -> list[str]:
    environment = os.environ | {"KEELBOX_CACHE": str(cache), "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], env=environment, capture_output=True, text=True, check=True, timeout=50
    )
    return done.stdout.split()


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache that one process has filled."""
    cache = tmp_path_factory.mktemp("filled") / "cache"
    assert in_a_process(cache) == ["ran", "compiled"]
    return cache


@pytest.fixture
def cache(filled: Path, tmp_path: Path) -> Path:
    shutil.copytree(filled, tmp_path / "cache")
    return tmp_path / "cache"


def test_next_process_takes_the_code_from_the_cache(cache: Path) -> None:
    assert in_a_process(cache) == ["ran", "cache"]


def test_damaged_code_is_made_again(cache: Path) -> None:
    (path,) = cache.glob("*.code")
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 0xFF
    path.write_bytes(data)
    assert in_a_process(cache) == ["ran", "compiled"]
    assert in_a_process(cache) == ["ran", "cache"]


def test_folder_of_another_mode_is_not_used_but_the_run_works(cache: Path) -> None:
    cache.chmod(0o777)
    assert in_a_process(cache) == ["ran", "compiled"]
