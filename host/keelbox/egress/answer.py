"""One response as it comes from whoever carries a request: the network, or a cassette."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from keelbox.egress.policy import Permit
    from keelbox.egress.request import Request
    from keelbox.egress.scrub import Scrubber
    from keelbox.egress.trail import Hop
    from keelbox.errors import KeelboxError

__all__ = ["REDIRECT_STATUSES", "Answer", "Tape", "Transport", "may_have_body"]

REDIRECT_STATUSES = frozenset({301, 302, 303, 307, 308})
"""A response with one of these and a Location is followed."""

_BODILESS_STATUSES = frozenset({204, 304})


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """A response, complete unless it is a redirect."""

    status: int
    headers: dict[str, str]
    body: bytearray
    location: bytes | None
    """Where it redirects to; the body was then not read."""


class Transport(Protocol):
    """Carries one request that the rules allow, and brings its response.

    Everything before it (method, host, redirects) and after it is the same for each transport.
    """

    async def send(self, request: Request, hop: Hop, permit: Permit, *, room_bytes: int) -> Answer:
        """Carry a request.

        Args:
            request: what the script sends.
            hop: kept up to date, so that it is right whenever this is cut.
            permit: that the policy allows it.
            room_bytes: most body bytes, decoded.

        Raises:
            EgressError: for every failure that a script may know.
        """
        ...


class Tape(Protocol):
    """The exchanges of one run: written down as they pass, or played in the network's place."""

    @property
    def file(self) -> str:
        """The cassette, as messages name it."""
        ...

    @property
    def replays(self) -> bool:
        """Whether it plays, so that no request is sent."""
        ...

    def over(self, network: Transport, scrubber: Scrubber | None = None) -> Transport:
        """Give the transport of the run.

        Args:
            network: what would carry its requests without a tape.
            scrubber: takes the run's secret values out of what is written down.
        """
        ...

    def left_over(self) -> KeelboxError | None:
        """Say why a run that has returned cleanly must not end so; None if it may."""
        ...

    def close(self) -> str | None:
        """Do what is to be done when the run has ended, however it did. Blocks.

        Returns:
            What to tell the user, if anything.

        Raises:
            KeelboxError: it cannot be done.
        """
        ...


def may_have_body(method: str, status: int) -> bool:
    """Whether a response can have a body (RFC 9110, section 6.4.1)."""
    return method != "HEAD" and status not in _BODILESS_STATUSES
