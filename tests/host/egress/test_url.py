"""What a URL is brought to, and what is refused. The hostile forms have their tests in tests/security."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keelbox.egress.faults import EgressCode, EgressError
from keelbox.egress.url import URL_BYTES, parse_url, printable_url, resolve_location


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("https://example.com", "https://example.com/"),
        ("HTTPS://EXAMPLE.com:443/A", "https://example.com/A"),
        ("http://example.com:80", "http://example.com/"),
        ("https://example.com:80/", "https://example.com:80/"),
        ("https://example.com./", "https://example.com/"),
        ("https://example.com?q=1#part", "https://example.com/?q=1"),
        ("https://example.com/a%2Fb?x=%zz", "https://example.com/a%2Fb?x=%zz"),
        ("https://example.com/ü?q=ß|{}", "https://example.com/%C3%BC?q=%C3%9F%7C%7B%7D"),
        ("https://bücher.example/", "https://xn--bcher-kva.example/"),
        ("https://xn--bcher-kva.example/", "https://xn--bcher-kva.example/"),
        ("https://[2606:4700:0::1111]/", "https://[2606:4700::1111]/"),
        ("https://[2606:4700::1111]:8443/", "https://[2606:4700::1111]:8443/"),
        ("https://1.1.1.1/", "https://1.1.1.1/"),
    ],
)
def test_url_has_one_canonical_form(text: str, expected: str) -> None:
    assert str(parse_url(text)) == expected


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/a/../b", "/b"),
        ("/a/./b/", "/a/b/"),
        ("/../../x", "/x"),
        ("/a/%2E%2e/b", "/b"),
        ("/a/b/..", "/a/"),
        ("/a/.", "/a/"),
        ("/a/...", "/a/..."),
        ("/.well", "/.well"),
    ],
)
def test_dot_segments_are_taken_out(path: str, expected: str) -> None:
    assert parse_url(f"https://example.com{path}?k=/../v").target == f"{expected}?k=/../v"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "example.com",
        "/path",
        "https:",
        "https:example.com",
        "https:/example.com",
        "https://",
        "https:///path",
        "https://?q",
        "https://:443/",
        "https://[::1",
        "https://[::1]x/",
        "https://[::x]/",
        "https://ex\ud800ample.com/",
        "https://example.com/\ud800",
    ],
)
def test_malformed_url_is_the_authors_fault(text: str) -> None:
    with pytest.raises(EgressError) as caught:
        parse_url(text)
    assert caught.value.code is EgressCode.REQUEST_INVALID


def test_longest_url_passes_and_one_more_does_not() -> None:
    longest = "https://example.com/".ljust(URL_BYTES, "x")
    assert str(parse_url(longest)) == longest
    with pytest.raises(EgressError):
        parse_url(longest + "x")


def test_url_that_grows_by_encoding_is_measured_after_it() -> None:
    with pytest.raises(EgressError):
        parse_url("https://example.com/" + "ü" * (URL_BYTES // 4))


@pytest.mark.parametrize(
    ("location", "expected"),
    [
        (b"", "https://a.com/x/y?q=1"),
        (b"#part", "https://a.com/x/y?q=1"),
        (b"?r=2", "https://a.com/x/y?r=2"),
        (b"z", "https://a.com/x/z"),
        (b"../z", "https://a.com/z"),
        (b"/z", "https://a.com/z"),
        (b"//b.com/z", "https://b.com/z"),
        (b"https://b.com:8443", "https://b.com:8443/"),
        (b"/\xc3\xbc", "https://a.com/%C3%BC"),
    ],
)
def test_location_is_resolved_against_what_answered(location: bytes, expected: str) -> None:
    assert str(resolve_location(parse_url("https://a.com/x/y?q=1"), location)) == expected


@pytest.mark.parametrize("location", [b"https://", b"http://a b/", b"//a..b/", b"/x\\y", b"x" * 9000])
def test_malformed_location_is_the_servers_fault(location: bytes) -> None:
    with pytest.raises(EgressError) as caught:
        resolve_location(parse_url("https://a.com/"), location)
    assert caught.value.code is EgressCode.PROTOCOL_ERROR


@pytest.mark.parametrize(
    "text",
    [
        "https://user:pass-word@a.com/x",
        "https:user:pass-word@a.com/x",
        "http:/user:pass-word@a.com/x",
        "http:\\\\user:pass-word@a.com/x",
        "user:pass-word@a.com/x",
        "https://a:pass-word@b:pass-word@a.com/x",
    ],
)
def test_printed_url_has_no_password(text: str) -> None:
    assert "pass-word" not in printable_url(text)
    assert printable_url(text).endswith("a.com/x")


@given(st.text(max_size=40))
def test_any_text_is_a_url_or_a_fault(text: str) -> None:
    for candidate in (text, f"https://{text}", f"https://example.com/{text}"):
        try:
            url = parse_url(candidate)
        except EgressError:
            continue
        assert str(url).isascii()
        assert parse_url(str(url)) == url


def test_printed_url_is_short_and_harmless() -> None:
    printed = printable_url("https://a.com/\x1b[31m\n\ud800" + "x" * 9000)
    assert printed.startswith("https://a.com/?[31m??x")
    assert len(printed) == 2048


def test_printed_url_keeps_an_at_sign_of_the_path() -> None:
    assert printable_url("https://a.com/@user?m=a@b.com") == "https://a.com/@user?m=a@b.com"
