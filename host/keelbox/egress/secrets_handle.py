"""Handles: what a script writes where the host is to put a secret's value, ``{{secret:WEATHER_KEY}}``.

A handle may stand in the value of a header, and in those fields of a JSON body that the secret's declaration lists.
Everywhere else it is refused: a script may pass on text of others, and whoever wrote ``{{secret:…}}`` into a chat
message must not get the value posted there.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

from keelbox.egress.faults import invalid
from keelbox.egress.request import Request
from keelbox.egress.secrets_rule import SECRET_NAME
from keelbox_sandbox.codec import CodecError, decode

__all__ = ["BODY_BYTES", "find_handles", "has_handle", "place_values", "refuse_in_url"]

BODY_BYTES = 256 * 1024
"""Largest body with a handle: it is parsed to see where the handle stands, some 10 ms of the event loop."""

_START = "{{secret:"
_HANDLE = re.compile(r"\{\{secret:([^{}]*)\}\}")
_IN_URL = re.compile(r"(?:\{|%7b){2}secret(?::|%3a)", re.IGNORECASE)


def refuse_in_url(text: str) -> None:
    """Refuse a URL that holds a handle, also percent-encoded: URLs are written into logs everywhere.

    Raises:
        EgressError: ``request-invalid``.
    """
    if _IN_URL.search(text):
        raise invalid("a secret never stands in a URL; send it in a header")


def has_handle(text: str, name: str) -> bool:
    """Whether a text holds the handle of a secret."""
    return name in _HANDLE.findall(text)


def find_handles(request: Request) -> Iterator[tuple[str, str | None]]:
    """Find the handles of a request: the secret's name, and the JSON pointer of the field (None: in a header).

    Raises:
        EgressError: ``request-invalid``: a handle stands where none may, or is malformed.
    """
    for _, value in request.headers:
        yield from ((name, None) for name in _names(value))
    if _START.encode() in request.body:
        yield from _in_body(request.body)


def place_values(request: Request, values: Mapping[str, str]) -> Request:
    """Replace the handles of a request, which `find_handles` has passed, by these values."""
    headers = tuple((name, _HANDLE.sub(lambda match: values[match[1]], value)) for name, value in request.headers)
    body = request.body
    for name in dict.fromkeys(name for name, pointer in find_handles(request) if pointer is not None):
        # In JSON two opening braces stand inside a text only, so the bytes around the handle can stay as they are.
        body = body.replace(f"{_START}{name}}}}}".encode(), json.dumps(values[name])[1:-1].encode())
    return replace(request, headers=headers, body=body)


def _names(text: str) -> list[str]:
    names = _HANDLE.findall(text)
    if text.count(_START) != len(names) or not all(map(SECRET_NAME.fullmatch, names)):
        raise invalid("a secret's handle is malformed; write it as {{secret:NAME}}")
    return names


def _in_body(body: bytes) -> Iterator[tuple[str, str]]:
    if len(body) > BODY_BYTES:
        raise invalid(f"a body with a secret's handle is larger than {BODY_BYTES} bytes", f"{len(body)} bytes")
    try:
        value = decode(body)
    except CodecError as error:
        raise invalid(
            "a secret's handle stands in a body that is not JSON; it may stand in a header or a field of a JSON body",
            f"the body is not JSON: {error.reason}",
        ) from None
    for pointer, text in _texts(value, ""):
        yield from ((name, pointer) for name in _names(text))


def _texts(value: Any, pointer: str) -> Iterator[tuple[str, str]]:
    """Give the texts of a JSON value with their pointers.

    Raises:
        EgressError: ``request-invalid``: a key holds a handle.
    """
    if isinstance(value, str):
        yield pointer, value
        return
    steps: Iterable[tuple[Any, Any]] = ()
    if isinstance(value, dict):
        steps = cast("dict[str, Any]", value).items()
    elif isinstance(value, list):
        steps = enumerate(cast("Sequence[Any]", value))
    for step, inner in steps:
        if _START in str(step):
            raise invalid("a secret's handle stands in the name of a field")
        yield from _texts(inner, f"{pointer}/{str(step).replace('~', '~0').replace('/', '~1')}")
