"""A response never keeps the event loop for itself, however it is cut up."""

from __future__ import annotations

import gzip
from itertools import pairwise

import anyio
import anyio.lowlevel
import pytest
from tests.servers.behaviours import raw
from tests.servers.fault_server import FaultServer, head, response
from tests.servers.http_call import LOOPBACK

from keelbox.egress.client import EgressClient
from keelbox.egress.decode import STEP_BYTES
from keelbox.egress.exchange import STEPS_COUNT
from keelbox.egress.request import Request
from keelbox.egress.run_egress import RunEgress
from keelbox.egress.secrets import NO_SECRETS, RunSecrets
from keelbox.egress.secrets_rule import SecretRule
from keelbox.egress.trail import Trail
from keelbox.egress.url import parse_url

CHUNKS_COUNT = 8000
BODY_BYTES = 32 * 1024 * 1024


VALUE = "a-secret"


async def sizes_seen_by_another_run(url: str, secrets: RunSecrets = NO_SECRETS) -> list[int]:
    """How much of the body was there, each time that another task had its turn."""
    trail = Trail()
    sizes = [0]

    async def watch() -> None:
        while True:
            await anyio.lowlevel.checkpoint()
            sizes.append(trail.hops[-1].bytes_in if trail.hops else 0)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(watch)
        client = EgressClient(RunEgress(policy=LOOPBACK, secrets=secrets))
        await client.fetch(Request(method="GET", url=parse_url(url)), trail, room_bytes=BODY_BYTES)
        sizes.append(trail.hops[-1].bytes_in)
        tasks.cancel_scope.cancel()
    return sizes


@pytest.mark.parametrize(
    ("answer", "whole_bytes", "most_bytes"),
    [
        (
            head(200, {"Transfer-Encoding": "chunked"}) + b"1\r\nx\r\n" * CHUNKS_COUNT + b"0\r\n\r\n",
            CHUNKS_COUNT,
            STEPS_COUNT,
        ),
        (
            response(200, {"Content-Encoding": "gzip"}, gzip.compress(bytes(BODY_BYTES))),
            BODY_BYTES,
            STEPS_COUNT * STEP_BYTES,
        ),
    ],
    ids=["tiny_chunks", "bomb"],
)
def test_body_is_taken_in_turns(answer: bytes, whole_bytes: int, most_bytes: int) -> None:
    with FaultServer(raw(answer)) as server:
        sizes = anyio.run(sizes_seen_by_another_run, server.url())
    assert sizes[-1] == whole_bytes
    assert max(later - earlier for earlier, later in pairwise(sizes)) <= most_bytes


def test_body_full_of_secrets_is_scrubbed_in_turns() -> None:
    body = VALUE.encode() * (1024 * 1024 // len(VALUE))
    rule = SecretRule(name="K", hosts=("a.example",))
    answer = response(200, {"Content-Encoding": "gzip"}, gzip.compress(body))
    with FaultServer(raw(answer)) as server:
        sizes = anyio.run(sizes_seen_by_another_run, server.url(), RunSecrets([rule], {"K": VALUE}))
    assert sizes[-1] == len(body)
    assert max(later - earlier for earlier, later in pairwise(sizes)) <= 2 * STEP_BYTES
