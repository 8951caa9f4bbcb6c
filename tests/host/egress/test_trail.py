"""The fate of an op that was more than one request."""

from __future__ import annotations

import pytest

from keelbox.egress.trail import Hop, Stage, Trail
from keelbox.egress.url import parse_url
from keelbox.outcome import Fate

URL = parse_url("https://a.com/")


def fate(*hops: tuple[str, Stage]) -> Fate:
    return Trail(hops=[Hop(method=method, url=URL, stage=stage) for method, stage in hops]).fate


@pytest.mark.parametrize(
    ("stage", "expected"),
    [
        (Stage.CHECKING, Fate.REFUSED),
        (Stage.RESOLVING, Fate.NOT_SENT),
        (Stage.CONNECTING, Fate.NOT_SENT),
        (Stage.SECURING, Fate.NOT_SENT),
        (Stage.SENDING, Fate.IN_FLIGHT),
        (Stage.ANSWERED, Fate.ANSWERED),
    ],
)
def test_fate_of_one_request_is_that_of_its_stage(stage: Stage, expected: Fate) -> None:
    assert fate(("POST", stage)) is expected


def test_nothing_tried_is_refused() -> None:
    assert fate() is Fate.REFUSED


def test_unsafe_hop_counts_and_the_safe_one_after_it_does_not() -> None:
    assert fate(("POST", Stage.ANSWERED), ("GET", Stage.SENDING)) is Fate.ANSWERED


@pytest.mark.parametrize(
    ("last", "expected"),
    [(Stage.SENDING, Fate.IN_FLIGHT), (Stage.CHECKING, Fate.ANSWERED), (Stage.CONNECTING, Fate.ANSWERED)],
)
def test_most_serious_unsafe_hop_decides(last: Stage, expected: Fate) -> None:
    assert fate(("POST", Stage.ANSWERED), ("POST", last)) is expected
