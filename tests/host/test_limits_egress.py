"""The ``egress`` section of limits.yaml: what it sets, and everything that is wrong with one, with its place."""

from __future__ import annotations

from pathlib import Path

import pytest

from keelbox.egress.operator import OperatorEgress
from keelbox.errors import ConfigError
from keelbox.limits import load_limits


def load(folder: Path, text: str) -> OperatorEgress:
    path = folder / "limits.yaml"
    path.write_text(text, encoding="utf-8")
    return load_limits(path).egress


def refused(folder: Path, text: str) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        load(folder, text)
    return [str(fault).removeprefix(f"{folder}/limits.yaml:") for fault in caught.value.faults]


@pytest.mark.parametrize("text", ["", "egress:\n", "egress: {}\n", "egress: {max_requests_per_minute: }\n"])
def test_silent_file_gives_built_in_values(tmp_path: Path, text: str) -> None:
    egress = load(tmp_path, text)

    assert egress == OperatorEgress()
    assert (egress.allow, egress.deny, egress.ports) == (None, (), None)


def test_no_file_gives_built_in_values() -> None:
    assert load_limits(None).egress == OperatorEgress()


def test_file_sets_what_it_names(tmp_path: Path) -> None:
    egress = load(
        tmp_path,
        """\
egress:
  allow: ["*", api.example.com:8443]
  deny: ["*.com", localhost]
  ports: [443, 8443]
  max_requests_per_minute: {tool: null, tenant: 5}
  max_concurrent: 7
""",
    )

    assert (egress.allow, egress.deny, egress.ports) == (
        ("*", "api.example.com:8443"),
        ("*.com", "localhost"),
        (443, 8443),
    )
    assert egress.tool_requests_per_minute_count is None
    assert (egress.tenant_requests_per_minute_count, egress.concurrent_count) == (5, 7)
    assert egress.place("deny") == "egress.deny (limits.yaml:3)"
    assert egress.place("max_requests_per_minute.tenant") == "egress.max_requests_per_minute.tenant (limits.yaml:5)"


def test_all_faults_come_at_once_in_file_order(tmp_path: Path) -> None:
    text = """\
defaults: {heap_mib: lots}
egress:
  alow: []
  allow: [a b, "*.com", localhost, 7]
  deny: api.example.com
  ports: [443, 0, 65536, "443", true]
  max_requests_per_minute: {tool: 0, tenent: 5, tenant: 1.5}
  max_concurrent: null
"""

    places = [fault.split(": ")[:2] for fault in refused(tmp_path, text)]

    assert places == [
        ["1:22", "defaults.heap_mib"],
        ["3:3", "egress.alow"],
        ["4:11", "egress.allow[0]"],
        ["4:16", "egress.allow[1]"],
        ["4:25", "egress.allow[2]"],
        ["4:36", "egress.allow[3]"],
        ["5:9", "egress.deny"],
        ["6:16", "egress.ports[1]"],
        ["6:19", "egress.ports[2]"],
        ["6:26", "egress.ports[3]"],
        ["6:33", "egress.ports[4]"],
        ["7:35", "egress.max_requests_per_minute.tool"],
        ["7:38", "egress.max_requests_per_minute.tenent"],
        ["7:57", "egress.max_requests_per_minute.tenant"],
        ["8:19", "egress.max_concurrent"],
    ]


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        ("alow: []", "unknown name; did you mean allow?"),
        ("allow: api.example.com", 'must be a list of host rules, as in [api.example.com], got "api.example.com"'),
        ("allow: [localhost]", "can never match"),
        ("allow: [https://a.com]", "write the host only, as in api.example.com"),
        ("deny: [https://a.com]", "write the host only, as in api.example.com"),
        ("deny:", "must not be null; leave it out for the default"),
        ("ports: 443", "must be a list of ports, as in [443], got 443"),
        ("ports: [70000]", "must be a whole number from 1 to 65535, got 70000"),
        ("max_requests_per_minute: 60", "({tool: 600, tenant: 3000}), got 60"),
        ("max_concurrent: 0", "must be a whole number from 1 to 2147483647, got 0"),
    ],
)
def test_fault_says_what_to_write(tmp_path: Path, line: str, fault: str) -> None:
    (told,) = refused(tmp_path, f"egress:\n  {line}\n")
    assert fault in told


def test_section_that_is_no_mapping_is_told(tmp_path: Path) -> None:
    (told,) = refused(tmp_path, "egress: [a.com]\n")
    assert told.startswith("1:9: egress: must be a mapping of names to values (allow, deny, ports, …), got a list")
