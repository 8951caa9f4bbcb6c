"""limits.yaml: what it sets, and everything that is wrong with one, at once and with its place."""

from __future__ import annotations

import math
import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import pytest

from keelbox.errors import ConfigError, UsageError
from keelbox.limit_facts import built_in_maximum
from keelbox.limits import LIMIT_FACTS, LimitsFile, declared_faults, load_limits, parse_limit_option
from keelbox_sandbox.contract import Limits


def load(folder: Path, text: str) -> LimitsFile:
    path = folder / "limits.yaml"
    path.write_text(text, encoding="utf-8")
    return load_limits(path)


def refused(folder: Path, text: str) -> list[str]:
    """Load and give the faults, without the folder."""
    with pytest.raises(ConfigError) as caught:
        load(folder, text)
    return [str(fault).removeprefix(f"{folder}/") for fault in caught.value.faults]


def test_no_file_gives_built_in_values() -> None:
    file = load_limits(None)

    assert file.defaults == Limits()
    assert file.maximum == built_in_maximum()
    assert file.tools == {}


@pytest.mark.parametrize("text", ["", "# nothing\n", "defaults:\nmaximum:\ntools:\n", "tools: {Current Weather: }\n"])
def test_silent_file_gives_built_in_values(tmp_path: Path, text: str) -> None:
    file = load(tmp_path, text)

    assert (file.defaults, file.maximum) == (Limits(), built_in_maximum())


def test_file_sets_what_it_names(tmp_path: Path) -> None:
    file = load(tmp_path, "defaults: {cpu_s: 0.5}\nmaximum: {wall_s: 900}\ntools:\n  A b: {wall_s: 800}\n")

    assert file.defaults == Limits(cpu_s=0.5)
    assert (file.maximum.wall_s, file.maximum.cpu_s) == (900, built_in_maximum().cpu_s)
    assert file.tools == {"A b": {"wall_s": 800}}
    assert file.origin("tools.A b.wall_s", "") == "limits.yaml:4"
    assert file.origin("defaults.wall_s", "elsewhere") == "elsewhere"


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        ("heapmib: 30", "2:3: defaults.heapmib: unknown name; did you mean heap_mib?"),
        ("heap-mib: 30", "2:3: defaults.heap-mib: unknown name; did you mean heap_mib?"),
        (
            "heap_kib: 30720",
            "2:3: defaults.heap_kib: unknown name; this limit is a number of MiB: write it heap_mib: 30",
        ),
        (
            "wall_ms: 1500",
            "2:3: defaults.wall_ms: unknown name; this limit is a number of seconds: write it wall_s: 1.5",
        ),
        ("cpu: 7", "2:3: defaults.cpu: unknown name; this limit is a number of seconds: write it cpu_s: 7"),
        ("cpu_mib: 7", "2:3: defaults.cpu_mib: unknown name; this limit is a number of seconds: write it cpu_s: 5"),
        (
            "memory_mb: 40",
            "2:3: defaults.memory_mb: unknown name; this limit is a number of MiB: write it heap_mib: 40",
        ),
        ("heap: lots", "2:3: defaults.heap: unknown name; this limit is a number of MiB: write it heap_mib: 30"),
        (
            "requests: 9",
            "2:3: defaults.requests: unknown name; this limit is a whole number: write it requests_count: 9",
        ),
        ("heap_mib: lots", '2:13: defaults.heap_mib: must be a number of MiB, got "lots"'),
        ('wall_s: "3"', '2:11: defaults.wall_s: must be a number of seconds, got "3"'),
        ("heap_mib: true", "2:13: defaults.heap_mib: must be a number of MiB, got true"),
        ("heap_mib: [30]", "2:13: defaults.heap_mib: must be a number of MiB, got a list"),
        ("writes_count: 2.5", "2:17: defaults.writes_count: must be a whole number, got 2.5"),
        ("writes_count: 2.0", "2:17: defaults.writes_count: must be a whole number, got 2.0"),
        ("cpu_s: 0", "2:10: defaults.cpu_s: must be more than 0, got 0; a limit cannot be switched off"),
        ("cpu_s: -1", "2:10: defaults.cpu_s: must be more than 0, got -1; a limit cannot be switched off"),
        ("cpu_s: .nan", "2:10: defaults.cpu_s: must be a finite number, got .nan"),
        ("cpu_s: .inf", "2:10: defaults.cpu_s: must be a finite number, got .inf"),
        ("heap_mib: 0.5", "2:13: defaults.heap_mib: must be at least 1, got 0.5"),
        (
            "heap_mib: 4000",
            "2:13: defaults.heap_mib: must be at most 3072, which no maximum can raise, got 4000",
        ),
        (
            "wall_s: 601",
            "2:11: defaults.wall_s: is 601, above the maximum 600 (built-in); "
            "write less, or raise maximum.wall_s in limits.yaml",
        ),
    ],
)
def test_wrong_line_is_explained(tmp_path: Path, line: str, fault: str) -> None:
    assert refused(tmp_path, f"defaults:\n  {line}\n") == [f"limits.yaml:{fault}"]


def test_unknown_name_without_neighbour_lists_all(tmp_path: Path) -> None:
    (fault,) = refused(tmp_path, "defaults: {zork: 1}\n")

    assert all(name in fault for name in LIMIT_FACTS)


@pytest.mark.parametrize("name", [field.name for field in fields(Limits)])
def test_null_is_no_limit_and_refused(tmp_path: Path, name: str) -> None:
    (fault,) = refused(tmp_path, f"defaults:\n  {name}: null\n")

    assert f"defaults.{name}: null would be no limit, and this one must be" in fault


def test_tool_override_stays_within_maximum(tmp_path: Path) -> None:
    (fault,) = refused(tmp_path, "maximum:\n  heap_mib: 40\ntools:\n  Current Weather:\n    heap_mib: 41\n")

    assert fault.startswith(
        "limits.yaml:5:15: tools.Current Weather.heap_mib: is 41, above the maximum 40 (limits.yaml:2)"
    )


def test_default_may_be_as_high_as_own_maximum(tmp_path: Path) -> None:
    file = load(tmp_path, "defaults: {wall_s: 5000}\nmaximum: {wall_s: 5000}\n")

    assert file.defaults.wall_s == file.maximum.wall_s == 5000


def test_maximum_below_built_in_default_wants_a_default(tmp_path: Path) -> None:
    (fault,) = refused(tmp_path, "maximum:\n  heap_mib: 20\n")

    assert fault == (
        "limits.yaml:2:13: maximum.heap_mib: is 20, below the built-in default 30; "
        "write defaults.heap_mib too, or raise this"
    )
    assert load(tmp_path, "maximum: {heap_mib: 20}\ndefaults: {heap_mib: 20}\n").defaults.heap_mib == 20


def test_section_must_be_known_and_a_mapping(tmp_path: Path) -> None:
    faults = refused(tmp_path, "default: {}\nmaximum: 3\nheap_mib: 30\ntools: {x: [1]}\n")

    assert faults == [
        "limits.yaml:1:1: default: unknown name; did you mean defaults?",
        "limits.yaml:2:10: maximum: must be a mapping of names to values, got 3",
        "limits.yaml:3:1: heap_mib: a limit stands in a section; put it under defaults:",
        "limits.yaml:4:12: tools.x: must be a mapping of names to values, got a list",
    ]


def test_all_faults_come_at_once_in_order(tmp_path: Path) -> None:
    faults = refused(
        tmp_path,
        "defaults:\n  cpu_s: 5\n  cpu_s: 6\n  heap_kib: 1\n  wall_s: null\nmaximum:\n  log_kib: x\n"
        "tools:\n  A: {wall_s: 1e9, nothing: 1}\nhosts: []\n",
    )

    assert [fault.split(":")[1] for fault in faults] == ["3", "4", "5", "7", "9", "9", "10"]


def test_large_file_is_refused(tmp_path: Path) -> None:
    assert refused(tmp_path, "#" * 300_000) == ["limits.yaml: is larger than 262144 bytes"]


@pytest.mark.parametrize(
    ("text", "pair"),
    [("wall_s=3", ("wall_s", 3)), (" cpu_s = 0.25 ", ("cpu_s", 0.25)), ("requests_count=7", ("requests_count", 7))],
)
def test_option_is_name_and_number(text: str, pair: tuple[str, float]) -> None:
    found = parse_limit_option(text)

    assert found == pair
    assert type(found[1]) is type(pair[1])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("wall_s", "--limit takes NAME=VALUE, got 'wall_s'"),
        ("wall_s=3s", '--limit wall_s: must be a number of seconds, got "3s"'),
        ("wall_s=", '--limit wall_s: must be a number of seconds, got ""'),
        ("wall_s=0", "--limit wall_s: must be more than 0, got 0; a limit cannot be switched off"),
        ("wall_s=1e999", "--limit wall_s: must be a finite number, got 1e999"),
        ("wall_ms=300", "--limit wall_ms: unknown name; this limit is a number of seconds: write it wall_s: 0.3"),
        ("requests_count=1.5", "--limit requests_count: must be a whole number, got 1.5"),
        (
            "wall_s=null",
            "--limit wall_s: null would be no limit, and this one must be; leave it out for the default 60",
        ),
    ],
)
def test_wrong_option_is_explained(text: str, message: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_limit_option(text)

    assert caught.value.message == message
    assert caught.value.hint is not None


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_declared_number_must_be_finite(value: float) -> None:
    faults = dict(declared_faults(load_limits(None), {"wall_s": value, "wall_ms": value}))

    assert faults["wall_s"] == f"must be a finite number, got {value}"
    assert faults["wall_ms"].endswith("write it wall_s: 60")


def test_built_in_limits_load_no_yaml_and_no_pydantic() -> None:
    program = (
        "import sys; from keelbox.limits import effective, load_limits, parse_limit_option as p\n"
        "effective(load_limits(None), command_line=dict([p('wall_s=3')]))\n"
        "print(sorted({m.partition('.')[0] for m in sys.modules} & {'pydantic', 'ruamel', 'difflib'}))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=True,
        env={"PYTHONPATH": ":".join(sys.path)},
    )

    assert done.stdout == "[]\n"
