"""Takes secret values out of whatever comes back or is written down.

A value is found as it is, in base64 (both alphabets, at each of the three places where a byte can fall), in hex,
percent-encoded, and escaped for JSON or HTML; also base64 that was escaped in turn; all in upper and lower case. It is
replaced by its handle, ``{{secret:NAME}}``. A server that wants to give a secret away can always write it so that
nobody finds it; this stops the many that echo a request without meaning harm.

Each form is found by ``bytes.find``, which takes linear time for any data: some 5 ms for 10 MB and one form.
Case is folded on both sides, so that any mix of ``%2f`` and ``%2F`` is found, and a header name that was made lower.
"""

from __future__ import annotations

import base64
import html
import json
import urllib.parse
from collections.abc import Iterable, Iterator, Mapping

from keelbox.errors import UsageError

__all__ = ["VALUE_BYTES_MAX", "VALUE_CHARS_MIN", "ScrubStream", "Scrubber", "handle_of"]

VALUE_CHARS_MIN = 8
"""Shortest value: a shorter one stands in half of all texts by chance, and can be guessed anyway."""

VALUE_BYTES_MAX = 4096
"""Longest value: four times as long as common tokens are. What is held back of a body while the next piece may complete
a secret grows with it."""

BLOCK_BYTES = 16 * 1024
"""How much is looked through at once: a step of a millisecond and of less than 1 MiB, even where one value follows
another."""

_SAFE_IN_URLS = ("", "/", "!~*'()", "-_.!~*'()/:@&=+$,;")
"""Which characters common functions leave as they are: all others encoded, in a path, a query by JavaScript, a URL."""

_HTML_SAFE_JSON = str.maketrans({char: f"\\u{ord(char):04x}" for char in "<>&'"})


class Scrubber:
    """Replaces the values of some secrets.

    Args:
        secrets: values by name.

    Raises:
        UsageError: a value is too short or too long to be found reliably. The text never has the value.
    """

    def __init__(self, secrets: Mapping[str, str]) -> None:
        found: dict[bytes, bytes] = {}
        for name, value in secrets.items():
            if len(value) < VALUE_CHARS_MIN:
                raise UsageError(
                    f"the value of secret {name} has {len(value)} characters; the least is {VALUE_CHARS_MIN}",
                    hint="a value as short as this stands in other texts by chance; use a longer one",
                )
            if len(value.encode("utf-8", "surrogatepass")) > VALUE_BYTES_MAX:
                raise UsageError(f"the value of secret {name} has more than {VALUE_BYTES_MAX} bytes")
            found.update(dict.fromkeys(_forms(value), handle_of(name).encode()))
        # The longest first, so that a value which holds another one is replaced as a whole.
        self._forms = tuple(sorted(found.items(), key=lambda item: -len(item[0])))

    def __bool__(self) -> bool:
        """Whether there is anything to look for."""
        return bool(self._forms)

    def text(self, text: str) -> str:
        """Scrub a text; a lone surrogate in it stays as it is."""
        if not self._forms:
            return text
        return self.data(text.encode("utf-8", "surrogatepass")).decode("utf-8", "surrogatepass")

    def data(self, data: bytes | bytearray) -> bytes:
        """Scrub bytes that are there as a whole."""
        if not self._forms:
            return bytes(data)
        stream = self.stream()
        return b"".join((*stream.feed(data), *stream.finish()))

    def headers(self, headers: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
        """Scrub names and values of headers."""
        return [(self.text(name), self.text(value)) for name, value in headers]

    def stream(self) -> ScrubStream:
        """Begin to scrub bytes that come in pieces; a value that lies across two of them is found too."""
        return ScrubStream(self._forms)


class ScrubStream:
    """Scrubs one body. Holds back some `BLOCK_BYTES` until it is finished.

    Attributes:
        found: whether a value was replaced so far.
    """

    def __init__(self, forms: tuple[tuple[bytes, bytes], ...]) -> None:
        self._forms = forms
        self._overlap_bytes = max((len(form) for form, _ in forms), default=1) - 1
        self._pending = bytearray()
        self.found = False

    def __bool__(self) -> bool:
        """Whether there is anything to look for."""
        return bool(self._forms)

    def feed(self, data: bytes | bytearray) -> Iterator[bytes | bytearray]:
        """Give what is certain after ``data``, in pieces."""
        if not self._forms:
            yield data
            return
        self._pending += data
        while len(self._pending) >= BLOCK_BYTES + self._overlap_bytes:
            yield self._take(BLOCK_BYTES)

    def finish(self) -> Iterator[bytes]:
        """Say that no more comes, and give the rest."""
        if self._pending:
            yield self._take(len(self._pending))

    def _take(self, count: int) -> bytes:
        """Scrub the first bytes; more than ``count`` if a value begins among them and ends later."""
        window = bytes(self._pending[: count + self._overlap_bytes])
        parts: list[bytes] = []
        end = 0
        for start, stop, handle in self._spans(window):
            if start >= max(count, end):
                break
            if start >= end:
                parts += (window[end:start], handle)
                self.found = True
            end = max(end, stop)
        parts.append(window[end:count])
        del self._pending[: max(count, end)]
        return b"".join(parts)

    def _spans(self, window: bytes) -> list[tuple[int, int, bytes]]:
        spans: list[tuple[int, int, bytes]] = []
        folded = window.lower()
        for form, handle in self._forms:
            start = folded.find(form)
            while start >= 0:
                spans.append((start, start + len(form), handle))
                start = folded.find(form, start + len(form))
        spans.sort(key=lambda span: (span[0], -span[1]))
        return spans


def handle_of(name: str) -> str:
    """Write what stands for a secret, in a script and wherever its value was taken out."""
    return f"{{{{secret:{name}}}}}"


def _forms(value: str) -> set[bytes]:
    """Write a value in every form that is looked for, in lower case."""
    plain = value.encode("utf-8", "surrogatepass")
    forms = _escaped(value)
    for form in tuple(forms):
        for core in _base64_cores(form):
            forms |= _escaped(core.decode("ascii"))
    every = "".join(f"%{byte:02x}" for byte in plain)
    return {form.lower() for form in forms} | {every.encode("ascii"), plain.hex().encode("ascii")}


def _escaped(text: str) -> set[bytes]:
    """Write a text as it stands in URLs, JSON and HTML."""
    forms = {text, html.escape(text), html.escape(text, quote=False)}
    for is_ascii in (True, False):
        quoted = json.dumps(text, ensure_ascii=is_ascii)[1:-1]
        forms |= {quoted, quoted.replace("/", "\\/"), quoted.translate(_HTML_SAFE_JSON)}
    for safe in _SAFE_IN_URLS:
        encoded = urllib.parse.quote(text.encode("utf-8", "surrogatepass"), safe=safe)
        forms |= {encoded, encoded.replace("%20", "+")}
    return {form.encode("utf-8", "surrogatepass") for form in forms}


def _base64_cores(data: bytes) -> Iterator[bytes]:
    """Write the characters that base64 makes of these bytes alone, whatever stands before and after them.

    The bytes may begin at the first, second or third byte of a group; the characters that share bits with a neighbour
    are left out, and so is the padding.
    """
    for before_bytes, start in ((0, 0), (1, 2), (2, 3)):
        whole = bytes(before_bytes) + data
        stop = len(whole) * 8 // 6
        yield base64.standard_b64encode(whole)[start:stop]
        yield base64.urlsafe_b64encode(whole)[start:stop]
