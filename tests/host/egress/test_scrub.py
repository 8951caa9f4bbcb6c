"""A secret's value is found in every form in which servers write it back, in linear time."""

from __future__ import annotations

import base64
import html
import json
import tracemalloc
import urllib.parse
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keelbox.egress.scrub import BLOCK_BYTES, Scrubber
from keelbox.errors import UsageError

VALUE = 'k/9+"<é&>~ =\\x-ÿ?'
HANDLE = "{{secret:KEY}}"
SCRUBBER = Scrubber({"KEY": VALUE})


def lower_escapes(text: str) -> str:
    return "".join(f"%{byte:02x}" for byte in text.encode())


FORMS: dict[str, Callable[[str], str]] = {
    "plain": lambda value: value,
    "json": json.dumps,
    "json_utf8": lambda value: json.dumps(value, ensure_ascii=False),
    "json_slashes": lambda value: json.dumps(value).replace("/", "\\/"),
    "json_for_html": lambda value: (
        json.dumps(value).replace("<", "\\u003C").replace(">", "\\u003E").replace("&", "\\u0026")
    ),
    "html": html.escape,
    "url_all": lambda value: urllib.parse.quote(value, safe=""),
    "url_path": urllib.parse.quote,
    "url_form": urllib.parse.quote_plus,
    "url_every_byte": lambda value: lower_escapes(value).upper(),
    "url_lower": lower_escapes,
    "lower": str.lower,
    "url_mixed_case": lambda value: urllib.parse.quote(value, safe="").replace("%2F", "%2f"),
    "hex": lambda value: value.encode().hex(),
    "hex_upper": lambda value: value.encode().hex().upper(),
}


def test_two_values_have_a_handle_each() -> None:
    scrubber = Scrubber({"A": "first-value", "B": "second-value"})
    assert scrubber.text("a first-value, second-value.") == "a {{secret:A}}, {{secret:B}}."


def test_nothing_to_look_for_changes_nothing() -> None:
    empty = Scrubber({})
    assert not empty
    assert (empty.text("\ud800 x"), empty.data(b"\xff"), empty.headers([("a", "b")])) == (
        "\ud800 x",
        b"\xff",
        [("a", "b")],
    )


@pytest.mark.parametrize("write", FORMS.values(), ids=list(FORMS))
def test_value_is_found_in_each_form(write: Callable[[str], str]) -> None:
    scrubbed = SCRUBBER.text(f"before {write(VALUE)} after")
    assert HANDLE in scrubbed
    assert write(VALUE).strip('"') not in scrubbed


@pytest.mark.parametrize("encode", [base64.standard_b64encode, base64.urlsafe_b64encode])
@pytest.mark.parametrize("before", [b"", b"x", b"xy", b"Bearer "])
@pytest.mark.parametrize("after", [b"", b"z", b"zz"])
def test_base64_is_found_wherever_it_begins(encode: Callable[[bytes], bytes], before: bytes, after: bytes) -> None:
    coded = encode(before + VALUE.encode() + after)
    for form in (coded, coded.rstrip(b"="), urllib.parse.quote(coded, safe="").encode(), coded.replace(b"/", b"\\/")):
        scrubbed = SCRUBBER.data(form)
        assert HANDLE.encode() in scrubbed
        assert len(scrubbed.replace(HANDLE.encode(), b"")) <= len(form) - len(VALUE.encode())


def test_headers_are_scrubbed_in_names_and_values() -> None:
    scrubber = Scrubber({"KEY": "abcd-efgh"})
    assert scrubber.headers([("x-abcd-efgh", "is abcd-efgh")]) == [(f"x-{HANDLE}", f"is {HANDLE}")]


def test_text_keeps_lone_surrogates() -> None:
    assert SCRUBBER.text(f"\udc00{VALUE}\ud800") == f"\udc00{HANDLE}\ud800"


def test_value_that_holds_another_is_replaced_whole() -> None:
    scrubber = Scrubber({"SHORT": "12345678", "LONG": "0123456789"})
    assert scrubber.text("0123456789 12345678") == "{{secret:LONG}} {{secret:SHORT}}"


def test_values_that_overlap_leave_nothing() -> None:
    scrubber = Scrubber({"A": "abcdefgh1234", "B": "1234ijklmnop"})
    assert scrubber.text("<abcdefgh1234ijklmnop>") == "<{{secret:A}}>"


@pytest.mark.parametrize("value", ["", "1234567"])
def test_short_value_is_refused_and_not_told(value: str) -> None:
    with pytest.raises(UsageError, match="secret KEY has") as caught:
        Scrubber({"KEY": value})
    assert "1234567" not in str(caught.value)


def test_long_value_is_refused() -> None:
    with pytest.raises(UsageError, match="more than 4096 bytes"):
        Scrubber({"KEY": "é" * 2049})


def test_value_across_pieces_is_found() -> None:
    stream = SCRUBBER.stream()
    data = f"ab{VALUE}cd".encode()
    pieces = [piece for byte in data for piece in stream.feed(bytes((byte,)))]
    assert b"".join((*pieces, *stream.finish())) == f"ab{HANDLE}cd".encode()


@pytest.mark.parametrize("at", range(BLOCK_BYTES - 20, BLOCK_BYTES + 4))
def test_value_across_blocks_is_found(at: int) -> None:
    scrubber = Scrubber({"KEY": "abcd-efgh"})
    data = bytes(at) + b"abcd-efgh" + bytes(BLOCK_BYTES)
    assert scrubber.data(data) == bytes(at) + HANDLE.encode() + bytes(BLOCK_BYTES)


@given(st.text("ab{}-", max_size=60), st.integers(1, 9))
def test_stream_gives_what_the_whole_gives(text: str, piece_bytes: int) -> None:
    scrubber = Scrubber({"A": "abababab", "B": "bababa{}"})
    data, stream = text.encode(), scrubber.stream()
    pieces = [data[at : at + piece_bytes] for at in range(0, len(data), piece_bytes)]
    streamed = b"".join((*(part for piece in pieces for part in stream.feed(piece)), *stream.finish()))
    assert streamed == scrubber.data(data)
    assert b"abababab" not in streamed
    assert b"bababa{}" not in streamed


def test_flood_of_values_takes_no_memory_of_its_own() -> None:
    scrubber = Scrubber({"KEY": "aaaaaaab"})
    stream, flood = scrubber.stream(), b"aaaaaaab" * (BLOCK_BYTES // 8)
    tracemalloc.start()
    try:
        for _ in range(20):
            assert sum(map(len, stream.feed(flood))) < 3 * BLOCK_BYTES
        _, peak_bytes = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak_bytes < 1024 * 1024
