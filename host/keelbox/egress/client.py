"""The one way out: rules, addresses, one connection a hop, redirects as new requests."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from keelbox.egress.address import is_loopback
from keelbox.egress.faults import REDIRECTS_COUNT, EgressCode, EgressError, denied
from keelbox.egress.policy import Permit
from keelbox.egress.request import Request, redirected
from keelbox.egress.resolve import SystemResolver, judge_answers, resolve
from keelbox.egress.run_egress import RunEgress
from keelbox.egress.secrets import NO_SECRETS
from keelbox.egress.trail import Hop, Stage, Trail
from keelbox.egress.url import Url

if TYPE_CHECKING:
    import ssl

    from keelbox.egress.answer import Answer, Transport

__all__ = ["EgressClient", "Fetched", "Network"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Fetched:
    """A complete response, after redirects."""

    url: Url
    """What answered."""
    status: int
    headers: dict[str, str]
    body: bytearray


class EgressClient:
    """Carries requests out under one policy. Holds no connection, cookie or session: nothing of one request is seen
    by another.

    Args:
        egress: the rules, and what stands between them and the network.
    """

    def __init__(self, egress: RunEgress) -> None:
        self._egress = egress
        self._secrets = egress.secrets or NO_SECRETS
        self._transport: Transport = Network(egress)
        if egress.tape is not None:
            self._transport = egress.tape.over(self._transport, self._secrets.scrubber)

    async def fetch(self, request: Request, trail: Trail, *, room_bytes: int) -> Fetched:
        """Send a request, following at most `REDIRECTS_COUNT` redirects, each under the full rule.

        The deadline is the caller's: cancel this, and ``trail`` says how far it got.

        Args:
            request: the first request.
            trail: gets a hop for each request, kept up to date.
            room_bytes: most bytes of the decoded body.

        Raises:
            EgressError: for every failure.
        """
        for _ in range(REDIRECTS_COUNT + 1):
            hop = Hop(method=request.method, url=request.url)
            trail.hops.append(hop)
            answer = await self._send(request, hop, room_bytes)
            if answer.location is None:
                return Fetched(url=request.url, status=answer.status, headers=answer.headers, body=answer.body)
            request = redirected(request, answer.status, answer.location)
        steps = " → ".join(str(url)[:200] for url in (*(hop.url for hop in trail.hops), request.url))
        raise EgressError(EgressCode.TOO_MANY_REDIRECTS, f"more than {REDIRECTS_COUNT} redirects: {steps}")

    async def _send(self, request: Request, hop: Hop, room_bytes: int) -> Answer:
        self._egress.methods.check(request.method, request.url)
        permit = self._egress.policy.permit(request.url)
        self._secrets.check(request)
        gate = self._egress.gate
        if gate is None:
            return await self._transport.send(request, hop, permit, room_bytes=room_bytes)
        gate.admit(self._egress.sender)
        hop.stage = Stage.QUEUEING
        async with gate.slots:
            hop.stage = Stage.CHECKING
            return await self._transport.send(request, hop, permit, room_bytes=room_bytes)


class Network:
    """Carries requests over the network: to addresses that were checked, one connection each.

    Args:
        egress: which addresses may be reached, and what is added to a request.
    """

    def __init__(self, egress: RunEgress) -> None:
        self._policy = egress.policy
        self._resolver = SystemResolver() if egress.resolver is None else egress.resolver
        self._ca_file = egress.ca_file
        self._secrets = egress.secrets or NO_SECRETS

    async def send(self, request: Request, hop: Hop, permit: Permit, *, room_bytes: int) -> Answer:
        """See `Transport.send`."""
        hop.route = permit.route
        target = permit.route or request.url
        secrets = self._secrets.needed(request)
        hop.stage = Stage.RESOLVING
        answers = await resolve(target, self._resolver)
        hop.stage = Stage.CHECKING
        addresses = judge_answers(target, answers, self._policy)
        if secrets:
            if target.scheme == "http" and not all(map(is_loopback, addresses)):
                raise denied(f"secret {secrets[0]} never goes to {target.origin} in plain http; use https")
            request, hop.secrets = self._secrets.attach(request), secrets

        hop.stage = Stage.CONNECTING
        # Only here: a run that sends nothing must not pay for the HTTP library and TLS.
        from keelbox.egress.exchange import exchange

        tls = self._tls() if target.scheme == "https" else None
        return await exchange(
            request,
            hop,
            addresses,
            port=target.port,
            tls=tls,
            room_bytes=room_bytes,
            scrubber=self._secrets.scrubber,
        )

    def _tls(self) -> ssl.SSLContext:
        from keelbox.egress.tls import client_context

        return client_context(self._ca_file)
