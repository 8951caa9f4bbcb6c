"""What is built from a checkout: an sdist without binaries, and a wheel that works in an environment of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest
from tools.service import command_environment, serving

TOP = Path(__file__).parents[2]

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]


def run(*command: str | Path, **environment: str) -> str:
    """Run a command as in a fresh terminal, and give its stdout."""
    inherited = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env={**inherited, **environment})
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An sdist, and the wheel that was built from it (not from the checkout)."""
    folder = tmp_path_factory.mktemp("dist")
    run(sys.executable, "-m", "build", "--outdir", folder, TOP)
    return folder


@pytest.fixture(scope="module")
def wheel(built: Path) -> Path:
    (path,) = built.glob("*.whl")
    return path


def test_wheel_is_for_every_platform(wheel: Path) -> None:
    assert wheel.name.endswith("-py3-none-any.whl")


def test_wheel_holds_what_runs_need(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())

    assert names >= {
        "keelbox/_default_limits.yaml",
        "keelbox/py.typed",
        "keelbox_sandbox/_stdlib/js/system.d.ts",
        "keelbox_sandbox/_stdlib/js/system/http.js",
        "keelbox_sandbox/py.typed",
        "keelbox_sandbox/wasm/guest/build/guest.wasm",
    }


def test_wheel_puts_nothing_beside_its_packages(wheel: Path) -> None:
    tops = {name.partition("/")[0] for name in zipfile.ZipFile(wheel).namelist()}

    assert {top for top in tops if not top.endswith(".dist-info")} == {"keelbox", "keelbox_sandbox"}
    run(sys.executable, "-m", "check_wheel_contents", "--config", TOP / "pyproject.toml", wheel)


def test_sdist_holds_the_tests_and_no_binary(built: Path) -> None:
    (path,) = built.glob("*.tar.gz")
    with tarfile.open(path) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}

    assert names >= {
        ".ci/run",
        "LICENSE",
        "README.md",
        "limits.yaml",
        "tests/packaging/test_wheel.py",
        "tools/tools.yaml",
    }
    assert not [name for name in names if name.endswith((".wasm", ".so", ".pyc", ".gz"))]


def test_wheel_runs_a_tool_in_an_environment_of_its_own(wheel: Path, tmp_path: Path) -> None:
    run(sys.executable, "-m", "venv", tmp_path / "venv")
    run(tmp_path / "venv/bin/pip", "install", "--quiet", wheel)
    with serving() as url:
        printed = run(
            *(tmp_path / "venv/bin/keelbox", "run", TOP / "tools/weather.js", "--json"),
            *("--input", '{"city":"Sofia"}'),
            KEELBOX_CACHE=str(tmp_path / "cache"),
            **command_environment(url),
        )

    report = json.loads(printed)
    assert (report["status"], report["certificate"]["effects"]) == ("ok", "committed")
    assert '"temperatureC":25.2' in report["messages"][0]["content"]
