"""What is wrong with a registry file: each fault with its place, and what to write instead."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from keelbox.errors import ConfigError
from keelbox.limits import load_limits
from keelbox.registry import load_registry

MINIMAL = {"name": "Weather", "type": "script", "entry": "weather.js", "access": "public", "side_effect": "read"}


def faults(folder: Path, *tools: Any, name: str = "tools.json") -> list[str]:
    """Load tools as JSON and give the faults, without file and place."""
    path = folder / name
    path.write_text(json.dumps({"tools": tools}), encoding="utf-8")
    with pytest.raises(ConfigError) as caught:
        load_registry(path)
    assert all(fault.line and fault.column for fault in caught.value.faults)
    return [f"{fault.path}: {fault.message}" for fault in caught.value.faults]


def fault_of(folder: Path, **fields: Any) -> str:
    """Give the one fault of a tool that is fit but for these fields."""
    (fault,) = faults(folder, MINIMAL | fields)
    return fault


def test_all_faults_come_at_once_in_file_order(tmp_path: Path) -> None:
    path = tmp_path / "tools.yaml"
    path.write_text("""\
tools:
  - name: Weather
    type: scrip
    entry: weather.js
    acess: public
    side_effect: write
    hosts: ["*"]
    limits: {wall_s: 1000000, heap_mb: 4}
    input: {type: strin}
  - name: weather
    type: script
    entry: ../weather.js
    access: pblic
    side_effect: read
    liveness: {max_silence_s: 0}
""")

    with pytest.raises(ConfigError) as caught:
        load_registry(path)

    assert [str(fault).removeprefix(f"{path}:") for fault in caught.value.faults] == [
        "2:5: tools.Weather.access: is missing",
        "2:5: tools.Weather.idempotency_key: is missing: a write tool needs one, so that the same call does not act"
        " twice; write an expression such as input.order_id, or call.id",
        "3:11: tools.Weather.type: must be 'script', 'flow', 'agent' or 'native', got \"scrip\"",
        "5:5: tools.Weather.acess: unknown name; did you mean access?",
        "7:13: tools.Weather.hosts[0]: host rule '*' is too wide for a declaration; name each host that the tool needs",
        "8:22: tools.Weather.limits.wall_s: is 1000000, above the maximum 600 (built-in);"
        " write less, or raise maximum.wall_s in limits.yaml",
        "8:31: tools.Weather.limits.heap_mb: unknown name; this limit is a number of MiB: write it heap_mib: 4",
        "9:13: tools.Weather.input.type: is no JSON Schema:"
        " must be one of: array, boolean, integer, null, number, object, string",
        "10:11: tools.weather.name: is taken: 'Weather' and this differ only in case or form;"
        " a tool is known by its name alone",
        "12:12: tools.weather.entry: leaves the folder with ..; must be a file of this folder,"
        " as in weather.js or lib/weather.js",
        "13:13: tools.weather.access: must be public, or a rule such as {id: members, allows: has(scope.memberId)}",
        "15:5: tools.weather.liveness: is for long tools: write duration: long too, or leave it out",
        "15:31: tools.weather.liveness.max_silence_s: must be more than 0, got 0",
    ]


@pytest.mark.parametrize("field", ["name", "type", "entry", "access", "side_effect"])
def test_required_field_that_is_missing_is_told(tmp_path: Path, field: str) -> None:
    tool = {key: value for key, value in MINIMAL.items() if key != field}

    (fault,) = faults(tmp_path, tool)

    assert fault.endswith(f"{field}: is missing")


@pytest.mark.parametrize(
    "field", ["description", "input", "hosts", "retries", "answers", "access", "side_effect", "cost_estimate"]
)
def test_wrong_type_is_not_coerced(tmp_path: Path, field: str) -> None:
    assert fault_of(tmp_path, **{field: True}).startswith(f"tools.Weather.{field}: must be")


@pytest.mark.parametrize("name", ["Weather", "weather", "WEATHER", "\uff37eather"])
def test_name_that_is_taken_is_refused(tmp_path: Path, name: str) -> None:
    assert "is taken" in faults(tmp_path, MINIMAL, MINIMAL | {"name": name})[-1]


def test_one_letter_names_that_are_the_same_are_refused(tmp_path: Path) -> None:
    """Python has one object for each such text, so that a comparison by identity misses them."""
    (fault,) = faults(tmp_path, MINIMAL | {"name": "a"}, MINIMAL | {"name": "a"})

    assert "is taken: the same name" in fault


@pytest.mark.parametrize(
    ("name", "says"),
    [
        (" Weather", "no space at its ends"),
        ("Current  Weather", "single spaces"),
        ("Weather\n", "no space at its ends"),
        ("We\u200bather", "ZERO WIDTH SPACE (U+200B)"),
        ("\u202eWeather", "RIGHT-TO-LEFT OVERRIDE (U+202E)"),
        ("Wea\x07ther", "U+0007"),
        ("../weather", "/ (U+002F)"),
        ("</SYSTEM CALL>", "< (U+003C)"),
        ("\uff37eather", "plain form (Unicode NFKC): Weather"),
        ("W\u0435ather", "mixes Cyrillic and Latin letters"),
        ("W" * 65, "at most 64 characters"),
        ("", "at least 1 character"),
    ],
)
def test_name_that_deceives_is_refused(tmp_path: Path, name: str, says: str) -> None:
    """G9: invisible characters, look-alikes, paths and markers."""
    assert says in fault_of(tmp_path, name=name)


@pytest.mark.parametrize(
    ("kind", "entry"),
    [
        ("script", "/weather.js"),
        ("script", "a/../weather.js"),
        ("script", "lib\\weather.js"),
        ("script", "./weather.js"),
        ("script", "weather\x00.js"),
        ("flow", "MultiAnswer"),
        ("flow", "-Start"),
        ("agent", "../researcher"),
        ("native", "os.system"),
        ("native", "os:system()"),
    ],
)
def test_entry_that_does_not_fit_its_type_is_refused(tmp_path: Path, kind: str, entry: str) -> None:
    assert fault_of(tmp_path, type=kind, entry=entry).startswith("tools.Weather.entry: ")


@pytest.mark.parametrize(
    ("kind", "entry"),
    [("script", "lib/weather.js"), ("flow", "MultiAnswer-Start"), ("agent", "researcher"), ("native", "a.b:place")],
)
def test_entry_that_fits_its_type_is_taken(tmp_path: Path, kind: str, entry: str) -> None:
    (tmp_path / "tools.json").write_text(json.dumps({"tools": [MINIMAL | {"type": kind, "entry": entry}]}))

    assert load_registry(tmp_path / "tools.json").get("Weather").entry == entry


@pytest.mark.parametrize("host", ["*", "*.com", "https://api.example.com", "127.0.0.1", "localhost", "a@b.com", "a..b"])
def test_host_that_is_too_wide_or_no_host_is_refused(tmp_path: Path, host: str) -> None:
    assert fault_of(tmp_path, hosts=[host]).startswith("tools.Weather.hosts[0]: host rule ")


@pytest.mark.parametrize(
    "post",
    ["http://api.example.com/q", "https://other.example.com/q", "/graphql", "https://", "https://api.example.com/q?a"],
)
def test_safe_post_that_no_request_can_be_is_refused(tmp_path: Path, post: str) -> None:
    fault = fault_of(tmp_path, hosts=["api.example.com"], safe_posts=[post])

    assert fault.startswith("tools.Weather.safe_posts[0]: ")


def test_safe_posts_of_write_tool_are_refused(tmp_path: Path) -> None:
    posts = {"hosts": ["a.example.com"], "safe_posts": ["https://a.example.com/q"]}

    fault = fault_of(tmp_path, side_effect="write", idempotency_key="call.id", **posts)

    assert fault == "tools.Weather.safe_posts: is for tools with side_effect: read; leave it out"


def test_long_tool_without_liveness_is_refused(tmp_path: Path) -> None:
    assert fault_of(tmp_path, duration="long").startswith("tools.Weather.liveness: is missing: a long tool says")


def test_operators_maximum_bounds_what_tool_asks_for(tmp_path: Path) -> None:
    (tmp_path / "limits.yaml").write_text("defaults: {wall_s: 2}\nmaximum: {wall_s: 5}\n")
    (tmp_path / "tools.json").write_text(json.dumps({"tools": [MINIMAL | {"limits": {"wall_s": 6}}]}))

    with pytest.raises(ConfigError) as caught:
        load_registry(tmp_path / "tools.json", load_limits(tmp_path / "limits.yaml"))

    (fault,) = caught.value.faults
    assert "is 6, above the maximum 5 (limits.yaml:2)" in fault.message


def test_null_limit_is_refused(tmp_path: Path) -> None:
    assert fault_of(tmp_path, limits={"heap_mib": None}).startswith("tools.Weather.limits.heap_mib: null")


def test_schema_fault_points_into_the_schema(tmp_path: Path) -> None:
    fault = fault_of(tmp_path, output={"type": "object", "properties": {"a": {"type": "string", "requird": True}}})

    assert fault.startswith("tools.Weather.output.properties.a.requird: unknown keyword")


def test_keen_tools_take_no_further_fields(tmp_path: Path) -> None:
    tool = {"name": "Weather", "type": "script", "entry": "weather.js", "hosts": ["example.com"]}

    (fault,) = faults(tmp_path, tool, name="keen-tools.json")

    assert fault == "tools.Weather.hosts: unknown name; known here: entry, name, type"


@pytest.mark.parametrize("text", ["", "[]", "tools: 3", "tools: [3]", "tool: []"])
def test_file_of_another_shape_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "tools.yaml").write_text(text)

    with pytest.raises(ConfigError):
        load_registry(tmp_path / "tools.yaml")
