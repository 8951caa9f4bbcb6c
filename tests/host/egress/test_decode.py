"""Content codings, decoded in bounded steps."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keelbox.egress.decode import MEMBERS_COUNT, STEP_BYTES, Decoder, decoder_for
from keelbox.egress.faults import EgressError


def deflate_raw(data: bytes) -> bytes:
    coder = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    return coder.compress(data) + coder.flush()


CODERS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress,
    "x-gzip": gzip.compress,
    "deflate": zlib.compress,
    "DEFLATE": deflate_raw,
}

GARBAGE = [
    ("gzip", b"hello"),
    ("gzip", b"\x1f\x8bhello, this is no gzip"),
    ("gzip", gzip.compress(b"hello") + b"more"),
    ("gzip", gzip.compress(b"hello")[:-8] + b"\0" * 8),
    ("gzip", zlib.compress(b"hello")),
    ("deflate", b"\xff\xff\xff\xff"),
    ("deflate", zlib.compress(b"hello") + b"more"),
]


def decode(coding: str, *parts: bytes) -> bytes:
    decoder = decoder_for(coding)
    assert decoder is not None
    pieces = [piece for part in parts for piece in decoder.feed(part)]
    decoder.finish()
    assert all(len(piece) <= STEP_BYTES for piece in pieces)
    return b"".join(pieces)


@pytest.mark.parametrize("coding", CODERS)
@given(data=st.binary(max_size=300), copies=st.integers(0, 2000), cut=st.integers(1, 64))
def test_any_body_in_any_parts_comes_back(coding: str, data: bytes, copies: int, cut: int) -> None:
    body = data * copies
    coded = CODERS[coding](body)
    parts = [coded[start : start + cut] for start in range(0, len(coded), cut)] if len(coded) < 2000 else [coded]
    assert decode(coding, *parts) == body


@pytest.mark.parametrize("coding", [None, "", "identity", " Identity "])
def test_identity_needs_no_decoder(coding: str | None) -> None:
    assert decoder_for(coding) is None


@pytest.mark.parametrize("coding", ["br", "zstd", "compress", "gzip, gzip", "gzip, identity", "gzip;q=1"])
def test_coding_that_was_not_asked_for_is_refused(coding: str) -> None:
    with pytest.raises(EgressError, match="only gzip and deflate"):
        decoder_for(coding)


def test_gzip_members_are_one_body() -> None:
    assert decode("gzip", gzip.compress(b"one ") + gzip.compress(b"two")) == b"one two"


def test_flood_of_empty_members_is_stopped() -> None:
    assert decode("gzip", gzip.compress(b"") * MEMBERS_COUNT) == b""
    with pytest.raises(EgressError, match="members"):
        decode("gzip", gzip.compress(b"") * (MEMBERS_COUNT + 1))


@pytest.mark.parametrize(("coding", "data"), GARBAGE)
def test_garbage_is_an_error(coding: str, data: bytes) -> None:
    with pytest.raises(EgressError):
        decode(coding, data)


@pytest.mark.parametrize("coding", ["gzip", "deflate"])
def test_cut_off_body_is_an_error(coding: str) -> None:
    coded = CODERS[coding](b"hello" * 100)
    for end in range(1, len(coded)):
        with pytest.raises(EgressError):
            decode(coding, coded[:end])


def test_reader_that_stops_has_inflated_one_step_only() -> None:
    bomb = gzip.compress(bytes(64 * 1024 * 1024))
    assert len(next(Decoder("gzip").feed(bomb))) == STEP_BYTES
