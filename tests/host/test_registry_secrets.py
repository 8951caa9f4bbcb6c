"""What is wrong with a tool's ``secrets``: each fault with its place, and what to write instead."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.host.test_registry_faults import faults

from keelbox.errors import ConfigError
from keelbox.registry import load_registry

TOOL = {
    "name": "Weather",
    "type": "script",
    "entry": "weather.js",
    "access": "public",
    "side_effect": "read",
    "hosts": ["api.example.com", "*.example.org", "api.example.com:8443"],
}
KEY = {"name": "WEATHER_KEY", "hosts": ["api.example.com"], "header": "authorization", "format": "Bearer {}"}


def secret_faults(folder: Path, *secrets: Any, **fields: Any) -> list[str]:
    return [
        fault.removeprefix("tools.Weather.secrets") for fault in faults(folder, TOOL | {"secrets": secrets} | fields)
    ]


def test_all_faults_come_at_once_with_their_places(tmp_path: Path) -> None:
    path = tmp_path / "tools.yaml"
    path.write_text("""\
tools:
  - name: Weather
    type: script
    entry: weather.js
    access: public
    side_effect: read
    hosts: [api.example.com]
    secrets:
      - name: weather-key
        hosts: [api.example.com, other.example.com]
        methods: [POST, FETCH]
        header: Cookie
      - hosts: ["*.example.com"]
        paths: [v1]
        format: Bearer
        fields: [key]
        host: x
""")

    with pytest.raises(ConfigError) as caught:
        load_registry(path)

    where = [str(fault).removeprefix(f"{path}:").split(": ")[:2] for fault in caught.value.faults]
    assert where == [
        ["9:15", "tools.Weather.secrets.weather-key.name"],
        ["10:34", "tools.Weather.secrets.weather-key.hosts[1]"],
        ["11:19", "tools.Weather.secrets.weather-key.methods[0]"],
        ["11:25", "tools.Weather.secrets.weather-key.methods[1]"],
        ["12:17", "tools.Weather.secrets.weather-key.header"],
        ["13:9", "tools.Weather.secrets[1].name"],
        ["13:17", "tools.Weather.secrets[1].hosts[0]"],
        ["14:17", "tools.Weather.secrets[1].paths[0]"],
        ["15:17", "tools.Weather.secrets[1].format"],
        ["15:17", "tools.Weather.secrets[1].format"],
        ["16:18", "tools.Weather.secrets[1].fields[0]"],
        ["17:9", "tools.Weather.secrets[1].host"],
    ]


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({"name": "key"}, "must be capital letters"),
        ({"hosts": []}, "is empty"),
        ({"hosts": ["*.example.org"]}, "exact hosts only"),
        ({"hosts": ["other.example.com"]}, "is not a host of this tool; add other.example.com to its hosts"),
        ({"hosts": ["api.example.com:9443"]}, "is not a host of this tool"),
        ({"hosts": ["127.0.0.1"]}, "is not a host of this tool"),
        ({"hosts": ["a b"]}, "label 'a b' is not valid"),
        ({"methods": []}, "is empty"),
        ({"methods": ["get"]}, "is not one of"),
        ({"methods": ["GET", "POST"]}, "is never sent: a tool with side_effect: read"),
        ({"paths": []}, "is empty"),
        ({"paths": ["/a*b"]}, "must be a plain path"),
        ({"paths": ["/a?b=c"]}, "must be a plain path"),
        ({"paths": ["/a/../b"]}, "must be a plain path"),
        ({"paths": ["/a%2fb"]}, "must be a plain path"),
        ({"header": "Host"}, "cannot be used: the header host is set by the host only"),
        ({"header": "a b"}, "cannot be used: header name"),
        ({"format": "Bearer"}, "with {} once"),
        ({"format": "{} {}"}, "with {} once"),
        ({"format": "Bearer {}\r\nX: y"}, "with {} once"),
        ({"fields": ["key"]}, "must be a JSON pointer"),
    ],
)
def test_part_that_is_not_fit_is_told(tmp_path: Path, change: dict[str, Any], fault: str) -> None:
    (told,) = secret_faults(tmp_path, KEY | change)
    assert fault in told


def test_format_without_a_header_is_told(tmp_path: Path) -> None:
    (told,) = secret_faults(tmp_path, {"name": "A", "hosts": ["api.example.com"], "format": "Bearer {}"})
    assert "write header too" in told


def test_list_of_names_is_told(tmp_path: Path) -> None:
    assert secret_faults(tmp_path, "WEATHER_KEY") == ['[0]: must be a mapping of names to values, got "WEATHER_KEY"']


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({}, ".WEATHER_KEY.name: is taken"),
        ({"name": "OTHER"}, ".OTHER.header: is set with secret WEATHER_KEY too, on api.example.com"),
        ({"name": "OTHER", "header": "Authorization", "paths": ["/x"]}, ".OTHER.header: is set"),
    ],
)
def test_secrets_in_each_others_way_are_told(tmp_path: Path, change: dict[str, Any], fault: str) -> None:
    (told,) = secret_faults(tmp_path, KEY, KEY | change)
    assert told.startswith(fault)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ({}, {"header": "x-key"}),
        ({}, {"hosts": ["a.example.org"]}),
        ({}, {"hosts": ["api.example.com:8443"]}),
        ({"methods": ["GET"]}, {"methods": ["HEAD"]}),
        ({"paths": ["/a/*"]}, {"paths": ["/b/*", "/a"]}),
        ({"paths": ["/a"]}, {"paths": ["/a/*"]}),
    ],
)
def test_secrets_that_never_meet_are_fine(tmp_path: Path, first: dict[str, Any], second: dict[str, Any]) -> None:
    path = tmp_path / "tools.json"
    other = KEY | {"name": "OTHER"}
    path.write_text(json.dumps({"tools": [TOOL | {"secrets": [KEY | first, other | second]}]}))
    assert [secret.name for secret in load_registry(path).get("Weather").secrets] == ["WEATHER_KEY", "OTHER"]


@pytest.mark.parametrize(("one", "two"), [("/a/*", "/a/b/*"), ("/a/b/*", "/a/*"), ("/a/*", "/a/b"), ("/a/b", "/a/b")])
def test_paths_that_overlap_are_told(tmp_path: Path, one: str, two: str) -> None:
    (told,) = secret_faults(tmp_path, KEY | {"paths": [one]}, KEY | {"name": "OTHER", "paths": [two]})
    assert "tell them apart by methods or paths" in told


def test_place_of_a_secret_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "tools.yaml"
    head = "tools:\n  - {name: W, type: script, entry: w.js, access: public, side_effect: read, hosts: [a.com],\n"
    path.write_text(f"{head}     secrets: [{{hosts: [a.com],\n       name: KEY}}]}}\n")
    assert load_registry(path).secret_lines == {("W", "KEY"): 4}


def test_write_tool_may_send_a_secret_by_any_method(tmp_path: Path) -> None:
    path = tmp_path / "tools.json"
    fields = {"side_effect": "write", "idempotency_key": "call.id", "secrets": [KEY | {"methods": ["POST"]}]}
    path.write_text(json.dumps({"tools": [TOOL | fields]}))
    assert load_registry(path).get("Weather").secrets[0].methods == ("POST",)
