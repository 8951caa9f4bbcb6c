"""Names to addresses: resolved once, and every answer judged before one of them is used."""

from __future__ import annotations

import socket
from collections.abc import Sequence
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import Protocol

from keelbox.egress.address import IPAddress
from keelbox.egress.faults import EgressCode, EgressError, denied
from keelbox.egress.policy import EgressPolicy
from keelbox.egress.url import Url

__all__ = ["ANSWERS_COUNT", "Resolver", "SystemResolver", "judge_answers", "resolve"]

ANSWERS_COUNT = 32
"""Most different addresses of one name. An honest name has a handful; a name with more is refused whole, because to
pick some of them would leave the others unjudged."""

_LOCALHOST = ("127.0.0.1", "::1")
"""RFC 6761, section 6.3: never asked of a resolver."""


class Resolver(Protocol):
    """Where addresses come from; tests give their own."""

    async def resolve(self, host: str, port: int) -> Sequence[str]:
        """The addresses of a name, best first.

        Raises:
            OSError: there is none, or no resolver answered.
        """
        ...


class SystemResolver:
    """The resolver of the operating system.

    A look-up that is cancelled goes on in its thread until the system gives up; its answer is dropped.
    """

    async def resolve(self, host: str, port: int) -> Sequence[str]:
        """See `Resolver.resolve`."""
        import anyio

        answers = await anyio.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        return [str(sockaddr[0]) for *_, sockaddr in answers]


async def resolve(url: Url, resolver: Resolver) -> Sequence[str]:
    """Find the addresses of a URL's host; a literal and ``localhost`` are not looked up.

    Raises:
        EgressError: ``dns-failed``.
    """
    if url.address is not None:
        return (url.host,)
    if url.host == "localhost" or url.host.endswith(".localhost"):
        return _LOCALHOST
    try:
        answers = await resolver.resolve(url.host, url.port)
    except (OSError, UnicodeError) as error:
        raise EgressError(EgressCode.DNS_FAILED, f"host {url.host!r} could not be resolved: {error}") from None
    if not answers:
        raise EgressError(EgressCode.DNS_FAILED, f"host {url.host!r} has no address")
    return answers


def judge_answers(url: Url, answers: Sequence[str], policy: EgressPolicy) -> tuple[IPAddress, ...]:
    """Judge all addresses of a host.

    Returns:
        Each address once, in the order of the answers.

    Raises:
        EgressError: ``denied`` if one of them is not allowed, or there are more than `ANSWERS_COUNT`.
    """
    texts = tuple(dict.fromkeys(answers))
    if len(texts) > ANSWERS_COUNT:
        raise denied(f"host {url.host!r} has {len(texts)} addresses, more than {ANSWERS_COUNT}")
    addresses: dict[IPAddress, None] = {}
    for text in texts:
        try:
            address: IPv4Address | IPv6Address = ip_address(text)
        except ValueError:
            raise denied(f"host {url.host!r} has an address that is none: {text[:80]!r}") from None
        policy.judge(url.host, address, url.port)
        addresses[address] = None
    return tuple(addresses)
