"""Plays a cassette to a run in the network's place: strictly, in order, and without touching the network."""

from __future__ import annotations

from typing import TYPE_CHECKING

import anyio.lowlevel

from keelbox.egress.answer import REDIRECT_STATUSES, Answer, Transport
from keelbox.egress.cassette import Cassette, Failure, Response, sent
from keelbox.egress.cassette_match import difference, matches, summary
from keelbox.egress.faults import EgressError, too_large
from keelbox.egress.trail import STAGES, Stage
from keelbox.errors import ReplayError

if TYPE_CHECKING:
    from keelbox.egress.policy import Permit
    from keelbox.egress.request import Request
    from keelbox.egress.scrub import Scrubber
    from keelbox.egress.trail import Hop
    from keelbox.errors import KeelboxError

__all__ = ["Player"]

_LISTED_COUNT = 5

_HINT = "if the script is right, record again with --record, or edit the cassette"


class Player:
    """Answers the requests of one run from a cassette.

    Everything else is as with the network: rules, redirects, sizes, deadlines and what the certificate says.

    Attributes:
        file: the cassette's name.
        replays: yes.
    """

    replays = True

    def __init__(self, cassette: Cassette) -> None:
        self._cassette = cassette
        self._used_count = 0
        self.file = cassette.file

    def over(self, network: Transport, scrubber: Scrubber | None = None) -> Transport:
        """See `Tape.over`; neither is used."""
        return self

    async def send(self, request: Request, hop: Hop, permit: Permit, *, room_bytes: int) -> Answer:
        """Answer a request with the next exchange.

        Raises:
            ReplayError: it is not the one that is asked for, or there is none left. The run cannot go on.
            EgressError: as it is written in the cassette; ``response-too-large`` also where the buffer is smaller now.
        """
        await anyio.lowlevel.checkpoint()
        exchanges, number = self._cassette.exchanges, self._used_count
        asked = sent(request)
        if number == len(exchanges):
            held = f"holds {number} and all were used" if number else "holds none"
            raise ReplayError(
                f"request {number + 1} is not in the cassette {self.file}, which {held}:\n{difference(None, asked)}",
                hint=_HINT,
            )
        exchange = exchanges[number]
        place = f"{self.file}:{exchange.line}"
        if not matches(exchange.request, asked):
            later = next((each for each in exchanges[number + 1 :] if matches(each.request, asked)), None)
            hint = _HINT if later is None else f"line {later.line} holds this request; the order counts too"
            raise ReplayError(
                f"request {number + 1} is not the one that the cassette holds ({place}):\n"
                f"{difference(exchange.request, asked)}",
                hint=hint,
            )
        self._used_count += 1
        hop.replayed_from = place
        hop.bytes_out = len(request.body)
        if isinstance(exchange.result, Failure):
            hop.stage = STAGES[exchange.result.fate]
            hop.status = exchange.result.status
            raise EgressError(exchange.result.code, f"replayed from {place}")
        return _answer(exchange.result, hop, room_bytes)

    def left_over(self) -> KeelboxError | None:
        """See `Tape.left_over`: exchanges that nobody asked for."""
        left = self._cassette.exchanges[self._used_count :]
        if not left:
            return None
        lines = [f"- {summary(each.request)} (line {each.line})" for each in left[:_LISTED_COUNT]]
        if len(left) > _LISTED_COUNT:
            lines.append(f"  … {len(left) - _LISTED_COUNT} more")
        count = "1 request" if len(left) == 1 else f"{len(left)} requests"
        return ReplayError(
            f"the script ended without {count} that the cassette {self.file} holds:\n" + "\n".join(lines),
            hint=_HINT,
        )

    def close(self) -> None:
        """See `Tape.close`; nothing is to be done."""


def _answer(response: Response, hop: Hop, room_bytes: int) -> Answer:
    hop.stage = Stage.ANSWERED
    hop.status = response.status
    location = response.headers.get("location")
    if response.status in REDIRECT_STATUSES and location is not None:
        return Answer(status=response.status, headers={}, body=bytearray(), location=location.encode("latin-1"))
    if len(response.body) > room_bytes:
        raise too_large(f"{hop.replayed_from} holds {len(response.body)} bytes", room_bytes)
    hop.bytes_in = len(response.body)
    return Answer(status=response.status, headers=dict(response.headers), body=bytearray(response.body), location=None)
