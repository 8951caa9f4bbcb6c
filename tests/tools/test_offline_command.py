"""The command that README names: an example tool from the command line, with no internet."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def keelbox_run(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run ``python -m tools.service -- keelbox run …`` in the checkout."""
    keelbox = [sys.executable, "-m", "keelbox", "run", *arguments]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    command = [sys.executable, "-m", "tools.service", "--", *keelbox]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, env=environment)


@pytest.mark.parametrize(
    "arguments",
    [
        ("tools/weather.js", "--context", '{"city":"Sofia"}'),
        ("Current Weather", "--project", "tools", "--input", '{"city":"Sofia"}'),
    ],
)
def test_weather_is_in_the_conversation(arguments: tuple[str, ...]) -> None:
    done = keelbox_run(*arguments, "--json")

    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert (report["status"], report["certificate"]["effects"]) == ("ok", "committed")
    assert '"temperatureC":25.2' in report["messages"][0]["content"]
    assert [op["url"].partition("?")[0] for op in report["certificate"]["ops"]] == [
        "https://geocoding-api.open-meteo.com/v1/search",
        "https://api.open-meteo.com/v1/forecast",
    ]


def test_input_that_the_schema_rejects_runs_nothing() -> None:
    done = keelbox_run("tools/weather.js", "--context", '{"city":"Sofia","units":"kelvin"}', "--json")

    assert done.returncode == 3
    assert json.loads(done.stdout)["fields"] == [
        {"path": "/units", "rule": "enum", "expected": "one of: metric, imperial"}
    ]


def test_script_without_a_declaration_answers_too(tmp_path: Path) -> None:
    """A copy outside of the project has no schema, no declared hosts, and plain words for its input."""
    (tmp_path / "lib").mkdir()
    for name in ("weather.js", "lib/reply.js"):
        (tmp_path / name).write_text((ROOT / "tools" / name).read_text("utf-8"), encoding="utf-8")

    done = keelbox_run(str(tmp_path / "weather.js"), "--context", "Sofia", "--json")

    assert done.returncode == 0, done.stderr
    assert '"temperatureC":25.2' in json.loads(done.stdout)["messages"][0]["content"]
