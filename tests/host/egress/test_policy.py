"""Who may be reached, by host rule."""

from __future__ import annotations

import pytest

from keelbox.egress.faults import EgressCode, EgressError
from keelbox.egress.policy import EgressPolicy, Permit
from keelbox.egress.url import parse_url
from keelbox.errors import UsageError

BOTH = ("https", "http")


def permit(policy: EgressPolicy, url: str) -> Permit:
    return policy.permit(parse_url(url))


def refusal(policy: EgressPolicy, url: str) -> str:
    """The operator's explanation of a denial."""
    with pytest.raises(EgressError) as caught:
        permit(policy, url)
    assert caught.value.code is EgressCode.DENIED
    return caught.value.detail


@pytest.mark.parametrize(
    ("rule", "url"),
    [
        ("api.example.com", "https://api.example.com/x"),
        ("API.Example.com.", "https://api.example.com/"),
        ("*.example.com", "https://api.example.com/"),
        ("*.example.com", "https://a.b.example.com/"),
        ("example.com:8443", "https://example.com:8443/"),
        ("*.example.com:8443", "https://a.example.com:8443/"),
        ("bücher.example", "https://xn--bcher-kva.example/"),
        ("1.1.1.1", "https://1.1.1.1/"),
        ("[2606:4700::1111]", "https://[2606:4700::1111]/"),
        ("[2606:4700::1111]:8443", "https://[2606:4700::1111]:8443/"),
    ],
)
def test_rule_covers_the_host_it_names(rule: str, url: str) -> None:
    assert permit(EgressPolicy(hosts=[rule]), url).rule == f"host rule {rule!r}"


@pytest.mark.parametrize(
    ("rule", "url"),
    [
        ("example.com", "https://api.example.com/"),
        ("*.example.com", "https://example.com/"),
        ("*.example.com", "https://badexample.com/"),
        ("example.com", "https://example.com.evil.com/"),
        ("example.com:8443", "https://example.com/"),
        ("example.com", "https://example.com:8443/"),
        ("example.com", "http://example.com/"),
        ("1.1.1.1", "https://1.0.0.1/"),
    ],
)
def test_rule_covers_nothing_else(rule: str, url: str) -> None:
    assert "not allowed" in refusal(EgressPolicy(hosts=[rule]), url)


def test_ports_are_the_schemes_own_unless_a_rule_names_one() -> None:
    policy = EgressPolicy(hosts=["example.com", "example.com:8443"], schemes=BOTH)
    for url in ("http://example.com/", "https://example.com/", "https://example.com:8443/"):
        permit(policy, url)
    for url in ("http://example.com:443/", "https://example.com:80/", "https://example.com:22/"):
        assert "port" in refusal(policy, url)


def test_any_public_host_needs_an_argument_of_its_own() -> None:
    with pytest.raises(UsageError, match="too wide"):
        EgressPolicy(hosts=["*"])
    assert permit(EgressPolicy(hosts=["*"], any_public=True), "https://anything.example/").rule == "host rule '*'"


@pytest.mark.parametrize(
    "url", ["https://10.0.0.1/", "https://localhost/", "https://router.lan/", "https://[fd00::1]/"]
)
def test_any_public_host_is_never_a_private_one(url: str) -> None:
    assert "public" in refusal(EgressPolicy(hosts=["*"], any_public=True), url)


@pytest.mark.parametrize(
    "rule",
    [
        "",
        "*.com",
        "*.",
        "**",
        "*.*.com",
        "a*.com",
        "https://a.com",
        "a.com/x",
        "u@a.com",
        "a.com:0",
        "a.com:",
        "a.com:99999",
        "a b.com",
        "a..com",
        "127.1",
        "*.1.1.1.1",
        "[::1",
        "a_b.com",
        "%61.com",
    ],
)
def test_rule_that_is_not_a_host_is_refused(rule: str) -> None:
    with pytest.raises(UsageError):
        EgressPolicy(hosts=[rule])


@pytest.mark.parametrize(
    "rule", ["localhost", "127.0.0.1", "[::1]", "10.0.0.1", "*.internal", "db.corp", "*.svc.local", "intranet"]
)
def test_rule_that_can_never_match_is_refused(rule: str) -> None:
    with pytest.raises(UsageError, match=r"can never match|too wide"):
        EgressPolicy(hosts=[rule])


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1:1234/",
        "https://127.8.9.1/",
        "http://[::1]:8000/",
        "http://localhost:8000/",
        "http://LOCALHOST./",
        "http://a.localhost/",
    ],
)
def test_loopback_needs_no_rule_once_it_is_allowed(url: str) -> None:
    assert permit(EgressPolicy(allow_loopback=True), url).rule == "loopback is allowed"
    assert "--allow-loopback" in refusal(
        EgressPolicy(hosts=["a.com"], schemes=BOTH), url
    ) or "below 'localhost'" in refusal(EgressPolicy(schemes=BOTH), url)


@pytest.mark.parametrize("rule", ["localhost:8765", "127.0.0.1:8765", "[::1]"])
def test_loopback_rule_is_fine_once_loopback_is_allowed(rule: str) -> None:
    assert EgressPolicy(hosts=[rule], allow_loopback=True).rules[0].text == rule


@pytest.mark.parametrize(
    "url", ["http://10.0.0.1/", "https://example.com/", "http://[::ffff:127.0.0.1]/", "http://printer.local/"]
)
def test_allowed_loopback_opens_nothing_else(url: str) -> None:
    assert refusal(EgressPolicy(allow_loopback=True), url)


def test_denial_says_what_is_allowed_and_the_next_step() -> None:
    detail = refusal(EgressPolicy(hosts=["a.com", "*.b.com"]), "https://c.com/")
    assert "host 'c.com' is not allowed" in detail
    assert "a.com, *.b.com" in detail
    assert "--allow-host c.com" in detail


def test_route_goes_with_the_permit_of_an_allowed_host() -> None:
    policy = EgressPolicy(
        hosts=["api.example.com"], allow_loopback=True, routes={"API.example.com": "http://127.0.0.1:8765"}
    )
    route = permit(policy, "https://api.example.com/x").route
    assert route is not None
    assert route.origin == "http://127.0.0.1:8765"


def test_route_allows_nothing_by_itself() -> None:
    policy = EgressPolicy(allow_loopback=True, routes={"api.example.com": "http://127.0.0.1:8765"})
    assert "not allowed" in refusal(policy, "https://api.example.com/")


@pytest.mark.parametrize(
    "base", ["https://127.0.0.1:1", "http://10.0.0.1:1", "http://example.com", "http://127.0.0.1:1/x", "127.0.0.1"]
)
def test_route_leads_to_loopback_only(base: str) -> None:
    with pytest.raises(UsageError, match="route of"):
        EgressPolicy(hosts=["a.com"], allow_loopback=True, routes={"a.com": base})


def test_route_needs_allowed_loopback() -> None:
    with pytest.raises(UsageError, match="allow_loopback"):
        EgressPolicy(hosts=["a.com"], routes={"a.com": "http://127.0.0.1:1"})
