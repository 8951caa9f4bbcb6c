"""How far a request got: what the certificate knows of it comes from here, not from guessing by exception."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

from keelbox.egress.url import Url
from keelbox.outcome import SAFE_METHODS, Fate

__all__ = ["STAGES", "Hop", "Stage", "Trail"]


class Stage(Enum):
    """Where one request is; each stage is entered before its first step is taken."""

    CHECKING = "checking the rules"
    QUEUEING = "waiting until fewer requests are under way (egress.max_concurrent)"
    RESOLVING = "resolving the host name"
    CONNECTING = "connecting"
    SECURING = "making the TLS connection"
    SENDING = "sending, or waiting for the response to begin"
    ANSWERED = "reading the response"

    @property
    def fate(self) -> Fate:
        """What became of a request that ended here."""
        if self in (Stage.CHECKING, Stage.QUEUEING):
            return Fate.REFUSED
        if self is Stage.ANSWERED:
            return Fate.ANSWERED
        return Fate.IN_FLIGHT if self is Stage.SENDING else Fate.NOT_SENT


STAGES = {
    Fate.REFUSED: Stage.CHECKING,
    Fate.NOT_SENT: Stage.CONNECTING,
    Fate.IN_FLIGHT: Stage.SENDING,
    Fate.ANSWERED: Stage.ANSWERED,
}
"""A stage with each fate, for what is replayed."""


@dataclass(slots=True, kw_only=True)
class Hop:
    """One request on the wire: the first, or one after a redirect."""

    method: str
    url: Url
    stage: Stage = Stage.CHECKING
    address: str | None = None
    """The address that it was sent to."""
    route: Url | None = None
    """The loopback address that it was routed to (local testing)."""
    replayed_from: str | None = None
    """Where in a cassette its answer stands; then nothing left this host."""
    secrets: tuple[str, ...] = ()
    """Names of the secrets whose values it carried."""
    status: int | None = None
    bytes_out: int = 0
    """Body bytes handed to the connection."""
    bytes_in: int = 0
    """Body bytes received, decoded."""


_SERIOUSNESS = (Fate.REFUSED, Fate.NOT_SENT, Fate.ANSWERED, Fate.IN_FLIGHT)


@dataclass(slots=True, kw_only=True)
class Trail:
    """The hops of one op, in order; empty if the request never got as far as the rules."""

    hops: list[Hop] = field(default_factory=list[Hop])

    @property
    def fate(self) -> Fate:
        """The most serious fate of its hops.

        Where one of them has an effect (an unsafe method), only such hops count: a POST that was answered with a
        redirect is answered, whatever happened to the GET that followed.
        """
        counted = [hop for hop in self.hops if hop.method not in SAFE_METHODS] or self.hops
        return max((hop.stage.fate for hop in counted), key=_SERIOUSNESS.index, default=Fate.REFUSED)

    @property
    def doing(self) -> str:
        """What the op was doing last."""
        return (self.hops[-1].stage if self.hops else Stage.CHECKING).value
