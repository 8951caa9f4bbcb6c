"""Which methods a run may use, and where: a tool that reads may POST to its ``safe_posts``, and nowhere else."""

from __future__ import annotations

import pytest
from tests.servers.fault_server import FaultServer, Peer
from tests.servers.http_call import call

from keelbox.egress.faults import EgressCode, EgressError
from keelbox.egress.method_rule import MethodRule, declared_methods
from keelbox.egress.request import METHODS
from keelbox.egress.url import parse_url
from keelbox.errors import UsageError
from keelbox.outcome import SAFE_METHODS, Fate
from keelbox.registry import SideEffect, ToolDeclaration

POSTED = "https://api.example.com/graphql"


def tool(side_effect: SideEffect, *safe_posts: str) -> ToolDeclaration:
    return ToolDeclaration(
        name="T", type="script", entry="t.js", access="public", side_effect=side_effect, safe_posts=safe_posts
    )


def allowed(rule: MethodRule, url: str) -> set[str]:
    passed: set[str] = set()
    for method in METHODS:
        try:
            rule.check(method, parse_url(url))
            passed.add(method)
        except EgressError as fault:
            assert fault.code is EgressCode.DENIED
    return passed


@pytest.mark.parametrize("url", [POSTED, "https://API.example.com:443/graphql", f"{POSTED}?q=1", f"{POSTED}#x"])
def test_safe_post_opens_post_alone(url: str) -> None:
    assert allowed(declared_methods(tool("read", POSTED)), url) == {*SAFE_METHODS, "POST"}


@pytest.mark.parametrize(
    "url",
    [
        "https://api.example.com/",
        "https://api.example.com/graphql/",
        "https://api.example.com/GraphQL",
        "https://api.example.com/graphql/../admin",
        "https://api.example.com:8443/graphql",
        "http://api.example.com/graphql",
        "https://other.example.com/graphql",
        "https://other.example.com/?https://api.example.com/graphql",
    ],
)
def test_safe_post_opens_no_other_place(url: str) -> None:
    assert allowed(declared_methods(tool("read", POSTED)), url) == SAFE_METHODS


@pytest.mark.parametrize("declaration", [None, tool("write"), tool("propose")])
def test_what_does_not_only_read_may_use_every_method(declaration: ToolDeclaration | None) -> None:
    assert allowed(declared_methods(declaration), POSTED) == METHODS


@pytest.mark.parametrize(
    ("method", "step"),
    [
        ("POST", "list https://api.example.com/admin under safe_posts; else declare side_effect: write"),
        ("DELETE", "(allowed: GET, HEAD, OPTIONS); declare side_effect: write"),
    ],
)
def test_refusal_says_what_to_declare(method: str, step: str) -> None:
    with pytest.raises(EgressError) as caught:
        declared_methods(tool("read", POSTED)).check(method, parse_url("https://api.example.com/admin?key=1"))
    assert step in caught.value.detail


def test_malformed_safe_post_is_misuse() -> None:
    with pytest.raises(UsageError, match="safe_posts"):
        MethodRule(safe_posts=["/graphql"])


def test_redirect_does_not_take_a_post_elsewhere() -> None:
    """307 keeps the method, so the next request would be a POST to a place that nobody declared."""

    def redirect(peer: Peer) -> None:
        peer.answer(status=307, headers={"location": "/admin"})

    with FaultServer(redirect) as server:
        rule = MethodRule(methods=SAFE_METHODS, safe_posts=[server.url("/graphql")])
        called = call(server.url("/graphql"), method="POST", methods=rule)
        assert [request.target for request in server.requests] == ["/graphql"]
    assert (called.code, called.fate) == ("denied", Fate.ANSWERED)
