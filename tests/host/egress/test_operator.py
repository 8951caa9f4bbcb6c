"""The operator's section and the tool's declaration: a request needs both."""

from __future__ import annotations

from typing import Any

import pytest
from tests.host.egress.test_policy import permit, refusal
from tests.servers.http_call import FakeResolver, call

from keelbox.egress.operator import OperatorEgress
from keelbox.egress.policy import EgressPolicy

PLACES = {name: f"limits.yaml:{line}" for line, name in enumerate(("allow", "deny", "ports"), 12)}


def policy(*hosts: str, allow_loopback: bool = False, **operator: Any) -> EgressPolicy:
    says = OperatorEgress(places=PLACES, **operator)
    return EgressPolicy(hosts=hosts, any_public=True, allow_loopback=allow_loopback, operator=says)


@pytest.mark.parametrize(
    ("operator", "url"),
    [
        ({}, "https://api.example.com/"),
        ({"allow": ("*",)}, "https://api.example.com/"),
        ({"allow": ("*.example.com",)}, "https://api.example.com/"),
        ({"allow": ("api.example.com",)}, "https://api.example.com/"),
        ({"allow": ("api.example.com",)}, "https://api.example.com:8443/"),
        ({"allow": ("api.example.com:8443",)}, "https://api.example.com:8443/"),
        ({"deny": ("example.com", "*.api.example.com")}, "https://api.example.com/"),
        ({"deny": ("api.example.com:8443",)}, "https://api.example.com/"),
        ({"ports": (443,)}, "https://api.example.com/"),
        ({"ports": (8443,)}, "https://api.example.com:8443/"),
    ],
)
def test_what_both_allow_passes(operator: dict[str, Any], url: str) -> None:
    permit(policy("api.example.com", "api.example.com:8443", **operator), url)


@pytest.mark.parametrize(
    ("operator", "detail"),
    [
        ({"allow": ()}, "not among the hosts in egress.allow (limits.yaml:12): none; add api.example.com there"),
        ({"allow": ("example.com",)}, "not among the hosts in egress.allow (limits.yaml:12): example.com;"),
        ({"allow": ("api.example.com:8443",)}, "not among the hosts in egress.allow"),
        ({"deny": ("api.example.com",)}, "denied by 'api.example.com' in egress.deny (limits.yaml:13)"),
        ({"deny": ("*.example.com",), "allow": ("api.example.com",)}, "denied by '*.example.com' in egress.deny"),
        ({"deny": ("*",)}, "denied by '*' in egress.deny"),
        ({"deny": ("*.com",)}, "denied by '*.com' in egress.deny"),
        ({"deny": ("api.example.com:443",)}, "denied by 'api.example.com:443' in egress.deny"),
        ({"ports": (8443,)}, "port 443 of host 'api.example.com' is not among egress.ports (limits.yaml:14): 8443;"),
        ({"ports": ()}, "is not among egress.ports (limits.yaml:14): none;"),
    ],
)
def test_what_the_operator_takes_away_is_denied(operator: dict[str, Any], detail: str) -> None:
    assert detail in refusal(policy("*", **operator), "https://api.example.com/")


def test_operator_gives_nothing_that_the_tool_does_not_declare() -> None:
    assert "add it to the tool's hosts" in refusal(policy("a.com", allow=("*",)), "https://b.com/")


def test_operator_cannot_open_what_is_never_public() -> None:
    for url in ("https://10.0.0.1/", "https://db.internal/", "http://api.example.com/"):
        assert "egress.allow" not in refusal(policy("*", allow=("api.example.com",)), url)


@pytest.mark.parametrize("denied", ["1.1.1.1", "1.1.1.1:443"])
def test_denied_address_is_denied_under_every_name(denied: str) -> None:
    resolver = FakeResolver(["1.0.0.1", "1.1.1.1"])
    called = call("https://api.example.com/", policy=policy("*", deny=(denied,)), resolver=resolver)
    assert (called.code, called.fate) == ("denied", "refused")
    assert "has the address 1.1.1.1, which egress.deny (limits.yaml:13) denies" in called.detail


def test_denied_ipv6_address_is_compared_in_one_form() -> None:
    resolver = FakeResolver(["2606:4700:0:0:0:0:0:1111"])
    called = call("https://api.example.com/", policy=policy("*", deny=("[2606:4700::1111]",)), resolver=resolver)
    assert "which egress.deny" in called.detail


def test_loopback_of_a_test_run_needs_no_entry_and_can_be_denied() -> None:
    permit(policy(allow_loopback=True, allow=(), ports=()), "http://127.0.0.1:8765/")
    assert "egress.deny" in refusal(policy(allow_loopback=True, deny=("127.0.0.1",)), "http://127.0.0.1:8765/")
