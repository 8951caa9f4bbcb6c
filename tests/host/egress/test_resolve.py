"""Names to addresses."""

from __future__ import annotations

from collections.abc import Sequence

import anyio
import pytest
from tests.servers.http_call import FakeResolver

from keelbox.egress.faults import EgressCode, EgressError
from keelbox.egress.policy import EgressPolicy
from keelbox.egress.resolve import ANSWERS_COUNT, SystemResolver, judge_answers, resolve
from keelbox.egress.url import parse_url

URL = parse_url("https://api.example.com/")


def judged(*answers: str) -> list[str]:
    return [str(address) for address in judge_answers(URL, answers, EgressPolicy())]


def test_answers_keep_their_order_without_doubles() -> None:
    assert judged("2606:4700::1111", "1.1.1.1", "1.1.1.1", "2606:4700:0:0::1111") == ["2606:4700::1111", "1.1.1.1"]


@pytest.mark.parametrize(
    "answer", ["", "localhost", "1.1.1", "1.1.1.1:80", "0x01010101", "2606:4700::1111%eth0", "fe80::1%1"]
)
def test_answer_that_is_no_plain_address_is_denied(answer: str) -> None:
    with pytest.raises(EgressError) as caught:
        judged("1.1.1.1", answer)
    assert caught.value.code is EgressCode.DENIED


def test_most_addresses_pass_and_one_more_does_not() -> None:
    answers = [f"1.1.1.{number}" for number in range(ANSWERS_COUNT + 1)]
    assert len(judged(*answers[:-1])) == ANSWERS_COUNT
    with pytest.raises(EgressError, match="33 addresses"):
        judged(*answers)


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("http://127.0.0.1/", ["127.0.0.1"]),
        ("http://[::1]/", ["::1"]),
        ("http://localhost/", ["127.0.0.1", "::1"]),
        ("http://x.localhost/", ["127.0.0.1", "::1"]),
    ],
)
def test_literal_and_localhost_are_not_looked_up(url: str, expected: Sequence[str]) -> None:
    resolver = FakeResolver(["1.1.1.1"])
    assert list(anyio.run(resolve, parse_url(url), resolver)) == expected
    assert resolver.asked == []


@pytest.mark.parametrize("answer", [OSError("no such name"), UnicodeError("label too long"), []])
def test_name_without_an_address_is_dns_failed(answer: Exception | Sequence[str]) -> None:
    with pytest.raises(EgressError) as caught:
        anyio.run(resolve, URL, FakeResolver(answer))
    assert caught.value.code is EgressCode.DNS_FAILED


def test_system_resolver_gives_plain_addresses() -> None:
    answers = anyio.run(SystemResolver().resolve, "localhost", 80)
    assert set(answers) <= {"127.0.0.1", "::1"}
    assert answers
