"""Which limit holds for a tool, and where it comes from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keelbox.errors import UsageError
from keelbox.limits import LIMIT_FACTS, LimitsFile, effective, load_limits
from keelbox_sandbox.contract import Limits

TEXT = """\
defaults:
  wall_s: 30
maximum:
  wall_s: 100
tools:
  Current Weather:
    wall_s: 10
"""


@pytest.fixture
def file(tmp_path: Path) -> LimitsFile:
    path = tmp_path / "limits.yaml"
    path.write_text(TEXT, encoding="utf-8")
    return load_limits(path)


def test_built_in_default_is_last() -> None:
    limits, origins = effective(load_limits(None))

    assert limits == Limits()
    assert set(origins) == set(LIMIT_FACTS)
    assert set(origins.values()) == {"built-in default"}


@pytest.mark.parametrize(
    ("tool_name", "declared", "command_line", "wall_s", "origin"),
    [
        (None, {}, {}, 30, "limits.yaml:2"),
        ("Other", {}, {}, 30, "limits.yaml:2"),
        ("Other", {"wall_s": 20}, {}, 20, "tools.yaml limits"),
        ("Other", {"wall_s": 100}, {}, 100, "tools.yaml limits"),
        ("Current Weather", {"wall_s": 20}, {}, 10, "limits.yaml:7 tools.Current Weather"),
        ("current weather", {"wall_s": 20}, {}, 20, "tools.yaml limits"),
        ("Current Weather", {"wall_s": 20}, {"wall_s": 40}, 40, "--limit"),
        (None, None, {"wall_s": 100}, 100, "--limit"),
    ],
)
def test_last_that_names_a_limit_holds(
    file: LimitsFile,
    tool_name: str | None,
    declared: Mapping[str, float] | None,
    command_line: Mapping[str, float],
    wall_s: float,
    origin: str,
) -> None:
    limits, origins = effective(file, tool_name, declared, command_line)

    assert (limits.wall_s, origins["wall_s"]) == (wall_s, origin)
    assert (limits.cpu_s, origins["cpu_s"]) == (5, "built-in default")


def test_declaration_stays_within_maximum(file: LimitsFile) -> None:
    with pytest.raises(UsageError) as caught:
        effective(file, "Other", {"wall_s": 101})

    assert caught.value.message == (
        "tool Other: limits.wall_s: is 101, above the maximum 100 (limits.yaml:4); "
        "write less, or raise maximum.wall_s in limits.yaml"
    )
    assert caught.value.exit_code == 2


def test_command_line_stays_within_maximum() -> None:
    with pytest.raises(UsageError, match=r"--limit cpu_s: is 61, above the maximum 60 \(built-in\)"):
        effective(load_limits(None), command_line={"cpu_s": 61})


def test_operator_override_excuses_no_declaration(file: LimitsFile) -> None:
    with pytest.raises(UsageError, match="above the maximum 100"):
        effective(file, "Current Weather", {"wall_s": 101})


def test_all_problems_are_told(file: LimitsFile) -> None:
    with pytest.raises(UsageError) as caught:
        effective(file, "Other", {"wall_s": 101, "heap": 3}, {"cpu_s": -1})

    assert [line.partition(": ")[0] for line in caught.value.message.splitlines()] == [
        "tool Other",
        "tool Other",
        "--limit cpu_s",
    ]


_VALUES = st.dictionaries(st.sampled_from(sorted(LIMIT_FACTS)), st.integers(-5, 100_000))


@given(declared=_VALUES, command_line=_VALUES)
def test_nothing_gets_above_maximum(declared: Mapping[str, float], command_line: Mapping[str, float]) -> None:
    file = load_limits(None)
    highest = asdict(file.maximum)
    fit = all(LIMIT_FACTS[n].minimum <= v <= highest[n] for asked in (declared, command_line) for n, v in asked.items())
    try:
        limits, _ = effective(file, "t", declared, command_line)
    except UsageError:
        assert not fit
    else:
        assert fit
        assert asdict(limits) == {**asdict(Limits()), **declared, **command_line}
