"""What a secret's rule refuses, and where values come from."""

from __future__ import annotations

from typing import Any

import pytest

from keelbox.egress.request import Request
from keelbox.egress.secrets import NO_SECRETS, RunSecrets
from keelbox.egress.secrets_rule import SecretRule
from keelbox.egress.secrets_source import EnvironmentSecrets, FirstOf, load_secrets
from keelbox.egress.url import parse_url
from keelbox.errors import UsageError

FIT: dict[str, Any] = {"name": "KEY", "hosts": ("api.example.com",)}
KEY = SecretRule(**FIT)


class Vault:
    """An operator's own source, which notes what it was asked for."""

    def __init__(self, **values: str) -> None:
        self._values = values
        self.asked: list[str] = []

    def get(self, name: str) -> str | None:
        self.asked.append(name)
        return self._values.get(name)


@pytest.mark.parametrize(
    ("part", "value"),
    [
        ("name", "key"),
        ("name", "1KEY"),
        ("name", "K" * 65),
        ("hosts", ()),
        ("hosts", ("*",)),
        ("hosts", ("10.0.0.1",)),
        ("methods", ("TRACE",)),
        ("paths", ("v1",)),
        ("paths", ("/v1/**",)),
        ("header", "cookie"),
        ("format", "x {}"),
        ("fields", ("/a~2",)),
    ],
)
def test_rule_that_is_not_fit_is_refused(part: str, value: Any) -> None:
    with pytest.raises(UsageError, match=rf"secret .*: {part}"):
        SecretRule(**FIT | {part: value})


@pytest.mark.parametrize(
    ("url", "fits"),
    [
        ("https://api.example.com/", True),
        ("https://API.example.com./x?y", True),
        ("https://api.example.com:8443/", False),
        ("https://a.api.example.com/", False),
        ("https://example.com/", False),
    ],
)
def test_rule_covers_exactly_its_hosts(url: str, fits: bool) -> None:
    assert (KEY.refusal("GET", parse_url(url)) is None) is fits


@pytest.mark.parametrize("path", ["/.well-known/x", "/v1/", "/*", "/v1.0/a-b_c~d", "/a%20b"])
def test_plain_paths_are_taken(path: str) -> None:
    assert SecretRule(**FIT, paths=(path,)).paths == (path,)


def test_secret_that_is_declared_twice_is_refused() -> None:
    with pytest.raises(UsageError, match="declared twice"):
        RunSecrets([KEY, KEY], {})


def test_environment_has_values_by_their_prefix() -> None:
    source = EnvironmentSecrets({"KEELBOX_SECRET_KEY": "in-the-environment", "OTHER": "x", "KEELBOX_SECRET_EMPTY": ""})
    assert [source.get(name) for name in ("KEY", "OTHER", "EMPTY")] == ["in-the-environment", None, None]


def test_environment_is_the_process_own_by_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KEELBOX_SECRET_KEY", "in-the-environment")
    assert EnvironmentSecrets().get("KEY") == "in-the-environment"


def test_first_source_that_has_a_value_counts() -> None:
    first, second = Vault(A="of-the-first"), Vault(A="of-the-second", B="of-the-second")
    both = FirstOf(first, second)
    assert [both.get(name) for name in "ABC"] == ["of-the-first", "of-the-second", None]
    assert second.asked == ["B", "C"]


def test_source_is_asked_for_what_is_declared_only() -> None:
    vault = Vault(KEY="of-the-vault", OTHER="of-the-vault")
    secrets = load_secrets([KEY], vault)
    assert vault.asked == ["KEY"]
    assert secrets.scrubber.text("of-the-vault") == "{{secret:KEY}}"


def test_tool_without_secrets_asks_no_source() -> None:
    vault = Vault()
    assert load_secrets((), vault) is NO_SECRETS
    assert vault.asked == []


def test_attached_request_leaves_the_scripts_own_as_it_was() -> None:
    rule = SecretRule(**FIT, header="x-key")
    request = Request(method="GET", url=parse_url("https://api.example.com/"), headers=(("accept", "a/b"),))
    attached = RunSecrets([rule], {"KEY": "a-long-value"}).attach(request)
    assert request.headers == (("accept", "a/b"),)
    assert attached.headers == (("accept", "a/b"), ("x-key", "a-long-value"))


def test_header_with_the_handle_takes_the_place_of_the_hosts_own() -> None:
    rule = SecretRule(**FIT, header="X-Key", format="Bearer {}")
    headers = (("x-key", "Token {{secret:KEY}}"),)
    request = Request(method="GET", url=parse_url("https://api.example.com/"), headers=headers)
    secrets = RunSecrets([rule], {"KEY": "a-long-value"})
    secrets.check(request)
    assert secrets.needed(request) == ("KEY",)
    assert secrets.attach(request).headers == (("x-key", "Token a-long-value"),)
