"""Writes exchanges as the text of a cassette.

What is written is read back to the same bytes, whatever a server sent; a property test holds that. A YAML library's
writer decides by its own schema what needs quotes, which is not our reader's, so here all that is not plainly a word is
in quotes.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias, TypeGuard

from keelbox.egress.cassette import Exchange, Failure, Response, SentRequest, find_json
from keelbox_sandbox.codec import encode

__all__ = ["cassette_text"]

_HEAD = """\
# A cassette of keelbox run: requests of a script, and what was answered. Look through it before you share it.

cassette: 1
"""

JSON_BYTES_MAX = 16 * 1024
JSON_DEPTH_COUNT = 16
JSON_KEY_CHARS_COUNT = 128
"""Up to this size, depth and length of a key a JSON body is written as YAML. A megabyte of that takes some 3 s to read,
a megabyte of text 0.5 s."""

KEY_CHARS_COUNT = 1000
"""A longer key must be marked as one (YAML 1.2, section 7.4.2, has 1024)."""

LINE_CHARS_COUNT = 110
"""Longest list or mapping in one line."""

BASE64_LINE_BYTES = 57
"""Bytes in one line of base64: 76 characters, as in MIME (RFC 2045, section 6.8)."""

_PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9_./+-]*(?: [A-Za-z0-9_./+(][A-Za-z0-9_./+()-]*)*")
_PLAIN_URL = re.compile(r"https?://[A-Za-z0-9._~:/?&=%+@!$'()*;-]*[A-Za-z0-9_~/=-]")
_NOT_TEXT = re.compile(r"(?:null|true|false|yes|no|on|off|y|n)", re.IGNORECASE)
"""Words that are no text for a reader of YAML 1.2 or 1.1."""

_INDENT = "  "

_Tree: TypeAlias = "dict[str, Any] | list[Any]"


def cassette_text(exchanges: Iterable[Exchange]) -> str:
    """Write exchanges, in order."""
    parts = [_exchange(exchange) for exchange in exchanges]
    if not parts:
        return f"{_HEAD}exchanges: []\n"
    return f"{_HEAD}exchanges:\n" + "\n".join("\n".join(lines) + "\n" for lines in parts)


def _exchange(exchange: Exchange) -> list[str]:
    lines = ["request:", *_indented(_request(exchange.request))]
    result = exchange.result
    if isinstance(result, Failure):
        lines += ["error:", *_indented(_failure(result))]
    else:
        lines += ["response:", *_indented(_response(result))]
    first, *rest = lines
    return [f"  - {first}", *(f"    {line}" if line else "" for line in rest)]


def _request(request: SentRequest) -> Iterator[str]:
    yield f"method: {request.method}"
    yield f"url: {_scalar(str(request.url))}"
    yield from _headers(request.headers)
    yield from _body(request.body, as_json=request.body_is_json)


def _response(response: Response) -> Iterator[str]:
    yield f"status: {response.status}"
    yield from _headers(response.headers)
    yield from _body(response.body, as_json=response.body_is_json)


def _failure(failure: Failure) -> Iterator[str]:
    yield f"code: {failure.code}"
    yield f"fate: {failure.fate}"
    if failure.status is not None:
        yield f"status: {failure.status}"


def _headers(headers: Mapping[str, str]) -> Iterator[str]:
    if headers:
        yield "headers:"
        for name, value in headers.items():
            if len(name) <= KEY_CHARS_COUNT:
                yield f"{_INDENT}{_key(name)}: {_scalar(value)}"
            else:
                yield from _indented((f"? {_key(name)}", f": {_scalar(value)}"))


def _body(body: bytes, *, as_json: bool) -> Iterator[str]:
    if not body:
        return
    if as_json and len(body) <= JSON_BYTES_MAX and (found := find_json(body)) is not None:
        (value,) = found
        # Only where the reader makes the same bytes of it.
        if _is_tree(value) and encode(value) == body and _fits(value, JSON_DEPTH_COUNT):
            yield from _field("json", value)
            return
    try:
        text = body.decode("utf-8")
    except UnicodeDecodeError:
        yield "base64: |"
        for start in range(0, len(body), BASE64_LINE_BYTES):
            yield _INDENT + base64.b64encode(body[start : start + BASE64_LINE_BYTES]).decode("ascii")
        return
    yield from _text(text)


def _text(text: str) -> Iterator[str]:
    *lines, last = text.split("\n")
    if last:
        lines.append(last)
    # Quotes and backslashes would need escapes, which nobody likes to read.
    if any(char in text for char in '\n"\\') and _can_be_block(lines):
        yield "text: |-" if last else "text: |"
        yield from _indented(lines)
    else:
        yield f"text: {_scalar(text)}"


def _can_be_block(lines: Sequence[str]) -> bool:
    """Whether lines mean themselves in a block: unprintable ones, and blank or indented ones at its edges, do not."""
    return (
        lines[0] != ""
        and lines[-1] != ""
        and not lines[0].startswith(" ")
        and all(line.isprintable() and not line.isspace() for line in lines)
    )


def _field(name: str, value: Any) -> Iterator[str]:
    """Write ``name: value``, a list or mapping in one line if it is short and holds nothing but scalars."""
    if not _is_tree(value):
        yield f"{name}: {_scalar(value)}"
    elif (flow := _flow(value)) is not None:
        yield f"{name}: {flow}"
    else:
        yield f"{name}:"
        yield from _indented(_block(value))


def _block(value: _Tree) -> Iterator[str]:
    if isinstance(value, dict):
        for key, item in value.items():
            yield from _field(_key(key), item)
        return
    for item in value:
        if not _is_tree(item):
            yield f"- {_scalar(item)}"
        elif (flow := _flow(item)) is not None:
            yield f"- {flow}"
        else:
            first, *rest = _block(item)
            yield f"- {first}"
            yield from _indented(rest)


def _flow(value: _Tree) -> str | None:
    items: Iterable[Any] = value.values() if isinstance(value, dict) else value
    if any(_is_tree(item) and item for item in items):
        return None
    if isinstance(value, dict):
        text = "{" + ", ".join(f"{_key(key)}: {_in_flow(item)}" for key, item in value.items()) + "}"
    else:
        text = "[" + ", ".join(_in_flow(item) for item in value) + "]"
    return text if len(text) <= LINE_CHARS_COUNT else None


def _in_flow(value: Any) -> str:
    if _is_tree(value):
        return "{}" if isinstance(value, dict) else "[]"
    return _scalar(value) if not isinstance(value, str) or _is_plain(value) else _quoted(value)


def _scalar(value: Any) -> str:
    if not isinstance(value, str):
        return json.dumps(value)
    return value if _is_plain(value) or _PLAIN_URL.fullmatch(value) else _quoted(value)


def _key(name: str) -> str:
    return name if _is_plain(name) else _quoted(name)


def _is_plain(text: str) -> bool:
    return _PLAIN.fullmatch(text) is not None and not _NOT_TEXT.fullmatch(text)


def _quoted(text: str) -> str:
    """Write a text in double quotes: JSON's way, which is YAML's too."""
    return json.dumps(text, ensure_ascii=not text.isprintable())


def _indented(lines: Iterable[str]) -> Iterator[str]:
    for line in lines:
        yield f"{_INDENT}{line}" if line else ""


def _is_tree(value: object) -> TypeGuard[_Tree]:
    return isinstance(value, dict | list)


def _fits(value: Any, depth_count: int) -> bool:
    if not _is_tree(value):
        return True
    if depth_count == 0 or (isinstance(value, dict) and any(len(key) > JSON_KEY_CHARS_COUNT for key in value)):
        return False
    return all(_fits(item, depth_count - 1) for item in (value.values() if isinstance(value, dict) else value))
