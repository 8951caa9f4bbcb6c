"""The exchanges of one run as they stand in a cassette.

Glossary:
    exchange: one request that the rules allowed, and what came of it. A request after a redirect is one of its own.
    cassette: the exchanges of one run, in order; a YAML file (docs/reference/cassette.md).
    record: write down what passes between the rules and the network.
    replay: give what stands in the cassette, and touch no network.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from keelbox.egress.faults import EgressCode
from keelbox.egress.request import Request
from keelbox.egress.url import Url
from keelbox.outcome import Fate
from keelbox_sandbox.codec import CodecError, decode

__all__ = [
    "ANY_VALUE",
    "CASSETTE_BYTES_MAX",
    "FATES",
    "Cassette",
    "Exchange",
    "Failure",
    "Response",
    "SentRequest",
    "find_json",
    "is_json",
    "sent",
]

CASSETTE_BYTES_MAX = 16 * 1024 * 1024
"""Largest cassette: room for one response that fills the default exchange buffer, in base64."""

ANY_VALUE = "*"
"""As the value of a request header in a cassette: whatever the script sends fits."""

FATES: Mapping[EgressCode, Fate] = {
    EgressCode.DENIED: Fate.REFUSED,
    EgressCode.DNS_FAILED: Fate.NOT_SENT,
    EgressCode.CONNECT_FAILED: Fate.NOT_SENT,
    EgressCode.TLS_FAILED: Fate.NOT_SENT,
    EgressCode.PROTOCOL_ERROR: Fate.IN_FLIGHT,
    EgressCode.TIMEOUT: Fate.IN_FLIGHT,
    EgressCode.RESPONSE_TOO_LARGE: Fate.ANSWERED,
}
"""The errors that an exchange can end with, and the fate that is meant where a cassette does not say: the most serious
that the error can have. (What is missing here is decided before or after the exchange, in a replay as well.)"""

_JSON_TYPE = re.compile(r"application/(?:[a-z0-9.!#$&^_+-]+\+)?json(?:[ \t]*;.*)?", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class SentRequest:
    """What a script asks for, as far as it counts for a match."""

    method: str
    url: Url
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    """The script's own, by lower-case name; in a cassette a value may be `ANY_VALUE`."""
    body: bytes = b""
    body_is_json: bool = False
    """Whether the body counts as a JSON value, and not as bytes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Response:
    """What was answered."""

    status: int
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    """As a script sees them, by lower-case name; of a redirect that was followed only ``location``."""
    body: bytes = b""
    """Without its content coding."""
    body_is_json: bool = False
    """Whether the body is written as a JSON value where nothing is lost by it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """Why nothing usable was answered."""

    code: EgressCode
    fate: Fate
    status: int | None = None
    """The status, if that much came."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """One request and what came of it."""

    request: SentRequest
    result: Response | Failure
    line: int = 0
    """Where it stands in the file, from 1; 0 while it is in no file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cassette:
    """The exchanges of one run, in order."""

    file: str
    """The name that messages show."""
    exchanges: tuple[Exchange, ...]


def sent(request: Request) -> SentRequest:
    """Take what counts for a match from a request that is about to leave."""
    headers = {name.lower(): value for name, value in request.headers}
    return SentRequest(
        method=request.method,
        url=request.url,
        headers=headers,
        body=request.body,
        body_is_json=is_json(headers),
    )


def is_json(headers: Mapping[str, str]) -> bool:
    """Whether headers say that their body is JSON."""
    return _JSON_TYPE.fullmatch(headers.get("content-type", "").strip()) is not None


def find_json(body: bytes) -> tuple[Any] | None:
    """The value that a body is in strict JSON, in a tuple of one; None if it is none."""
    try:
        return (decode(body),)
    except CodecError:
        return None
