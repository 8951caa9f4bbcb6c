"""Whether a request is the one that a cassette holds; and if not, what is different, for a person to read."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher

from keelbox.egress.cassette import ANY_VALUE, SentRequest, find_json

__all__ = ["difference", "matches", "summary"]

_LINES_COUNT = 300
"""Lines of one side that are compared, so that the time is bounded."""

_LINE_CHARS_COUNT = 160
_CONTEXT_LINES_COUNT = 3
_SUMMARY_CHARS_COUNT = 120


def matches(held: SentRequest, asked: SentRequest) -> bool:
    """Whether a script asks for what a cassette holds: the same method, URL, headers of its own, and body.

    The order of a query's parameters counts, that of headers does not. A JSON body is compared as a value.
    """
    return (
        (held.method, str(held.url)) == (asked.method, str(asked.url))
        and held.headers.keys() == asked.headers.keys()
        and all(value in (ANY_VALUE, asked.headers[name]) for name, value in held.headers.items())
        and _same_body(held, asked)
    )


def summary(request: SentRequest) -> str:
    """Method and URL in one line."""
    text = f"{request.method} {request.url}"
    return text if len(text) <= _SUMMARY_CHARS_COUNT else f"{text[: _SUMMARY_CHARS_COUNT - 1]}…"


def difference(held: SentRequest | None, asked: SentRequest) -> str:
    """Show two requests that do not match, as a diff.

    Args:
        held: what the cassette has (``-``); None: nothing.
        asked: what the script asks for (``+``).
    """
    if held is None:
        return "\n".join(f"+ {line}" for line in _cut([*_head_lines(asked, None), *_body_lines(asked)]))
    old, new = _head_lines(held, asked), _head_lines(asked, held)
    if not _same_body(held, asked):
        old += _body_lines(held)
        new += _body_lines(asked)
    lines = list(_diff_lines(_cut(old), _cut(new)))
    if not any(line.startswith(("- ", "+ ")) for line in lines):
        lines += [
            f"- … a body of {len(held.body)} bytes that differs further on",
            f"+ … a body of {len(asked.body)} bytes",
        ]
    return "\n".join(lines)


def _same_body(held: SentRequest, asked: SentRequest) -> bool:
    if held.body == asked.body:
        return True
    if not held.body_is_json:
        return False
    value = _canonical(held.body)
    return value is not None and value == _canonical(asked.body)


def _canonical(body: bytes) -> str | None:
    """The one text for all JSON texts of a value, None if the body is none. A float holds each integer of strict JSON,
    so ``1`` and ``1.0`` become one; ``true`` stays another."""
    if find_json(body) is None:
        return None
    return json.dumps(json.loads(body, parse_int=float), sort_keys=True)


def _head_lines(request: SentRequest, other: SentRequest | None) -> list[str]:
    """Method and URL with a line for each parameter, then the headers. Those that fit the other side's any value look
    like that."""
    url, question, query = str(request.url).partition("?")
    lines = [f"{request.method} {url}"]
    for index, parameter in enumerate(query.split("&") if question else ()):
        lines.append(f"  {'&' if index else '?'}{parameter}")
    for name, value in sorted(request.headers.items()):
        any_value = other is not None and other.headers.get(name) == ANY_VALUE
        lines.append(f"{name}: {ANY_VALUE if any_value else value}")
    return lines


def _body_lines(request: SentRequest) -> list[str]:
    if not request.body:
        return []
    found = find_json(request.body) if request.body_is_json else None
    if found is not None:
        return json.dumps(found[0], indent=2, ensure_ascii=False, sort_keys=True).split("\n")
    try:
        return request.body.decode("utf-8").split("\n")
    except UnicodeDecodeError:
        digest = hashlib.sha256(request.body).hexdigest()
        return [f"{len(request.body)} bytes, sha256 {digest}"]


def _cut(lines: Sequence[str]) -> list[str]:
    """Bring lines into a length that can be read, and leave out what is beyond the most."""
    pieces = [
        line[start : start + _LINE_CHARS_COUNT]
        for line in lines[:_LINES_COUNT]
        for start in range(0, max(len(line), 1), _LINE_CHARS_COUNT)
    ]
    return pieces[:_LINES_COUNT]


def _diff_lines(old: list[str], new: list[str]) -> Iterator[str]:
    matcher = SequenceMatcher(None, old, new, autojunk=False)
    end = 0
    for group in matcher.get_grouped_opcodes(_CONTEXT_LINES_COUNT):
        if group[0][1] > end:
            yield "  …"
        for kind, old_start, old_end, new_start, new_end in group:
            if kind == "equal":
                yield from (f"  {line}" for line in old[old_start:old_end])
                continue
            yield from (f"- {line}" for line in old[old_start:old_end])
            yield from (f"+ {line}" for line in new[new_start:new_end])
        end = group[-1][2]
