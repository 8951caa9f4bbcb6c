"""Untrusted text on a terminal: it shows what it is, and stays inside its lines."""

from __future__ import annotations

import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keelbox.cli.text import Screen, bytes_text, cells_count, clip, lines_of, ms_text, printable


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain", "plain"),
        ("Пловдив 漢字 👩‍👩‍👧", "Пловдив 漢字 👩‍👩‍👧"),
        ("\x1b[31mred", "\\u{1b}[31mred"),
        ("\x9b31m", "\\u{9b}31m"),
        ("a\rb\nc", "a\\u{d}b\\u{a}c"),
        ("\u202etxt.exe", "\\u{202e}txt.exe"),
        ("zero\u200bwidth", "zero\\u{200b}width"),
        ("a\tb", "a    b"),
        ("\u2028", "\\u{2028}"),
        ("\ud800", "\\u{d800}"),
        ("non\u00a0breaking", "non\u00a0breaking"),
    ],
)
def test_what_a_terminal_acts_upon_is_made_visible(text: str, shown: str) -> None:
    assert printable(text) == shown


def test_line_ends_of_every_kind_are_lines() -> None:
    assert printable("a\r\nb\rc\nd\u2028e\u2029f\x85g", keep_lines=True) == "a\nb\nc\nd\ne\nf\\u{85}g"


@given(st.text(), st.integers(min_value=2, max_value=40))
def test_no_line_is_wider_than_asked(text: str, cells: int) -> None:
    lines = list(lines_of(text, cells))
    assert all(cells_count(line) <= cells for line in lines)
    assert "".join(lines) == printable(text, keep_lines=True).replace("\n", "")


@given(st.text(), st.integers(min_value=3, max_value=40))
def test_clipped_text_fits(text: str, cells: int) -> None:
    shown = clip(printable(text), cells)
    assert cells_count(shown) <= cells
    assert shown == printable(text) or shown.endswith("…")


def test_lines_break_at_spaces() -> None:
    assert list(lines_of("one two three four", 10)) == ["one two ", "three four"]
    assert list(lines_of("onetwothreefour", 10)) == ["onetwothre", "efour"]
    assert list(lines_of("漢字漢字", 5)) == ["漢字", "漢字"]


@pytest.mark.parametrize(
    ("count", "text"), [(0, "0 B"), (1023, "1023 B"), (1024, "1.0 KiB"), (1048576, "1.0 MiB"), (10485760, "10.0 MiB")]
)
def test_bytes(count: int, text: str) -> None:
    assert bytes_text(count) == text


@pytest.mark.parametrize(("ms", "text"), [(0.04, "0.0 ms"), (9.94, "9.9 ms"), (12.4, "12 ms"), (1500.0, "1.50 s")])
def test_durations(ms: float, text: str) -> None:
    assert ms_text(ms) == text


def on_terminal(monkeypatch: pytest.MonkeyPatch, **variables: str) -> Screen:
    """Make a screen as if stderr, which is pytest's here, were a terminal."""
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    for name in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    for name, value in ({"TERM": "xterm"} | variables).items():
        monkeypatch.setenv(name, value)
    return Screen()


@pytest.mark.parametrize(
    ("variables", "colours"),
    [
        ({}, True),
        ({"NO_COLOR": "1"}, False),
        ({"NO_COLOR": ""}, True),
        ({"TERM": "dumb"}, False),
        ({"NO_COLOR": "1", "FORCE_COLOR": "1"}, False),
    ],
)
def test_colours_on_a_terminal(monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], colours: bool) -> None:
    assert on_terminal(monkeypatch, **variables).colours is colours


def test_colours_without_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    assert (Screen().colours, Screen().width) == (False, None)
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert Screen().colours


def test_table_cuts_its_flexible_column(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    screen = on_terminal(monkeypatch, COLUMNS="60", NO_COLOR="1")
    screen.table([["1", "https://x.example/" + "y" * 80, "200"], ["12", "short", ""]], right=(0,), flexible=1)
    first, second = capsys.readouterr().err.splitlines()
    assert first.startswith("   1  https://x.example/yyy")
    assert first.endswith("y…  200")
    assert len(first) <= 60
    assert second == "  12  short"


def test_long_quote_is_cut(capsys: pytest.CaptureFixture[str]) -> None:
    Screen().quote("\n".join(map(str, range(100))), lines_max=3)
    assert capsys.readouterr().err.splitlines() == ["  │ 0", "  │ 1", "  │ 2", "  │ … more; --json has all of it"]
    Screen().quote("x" * 5000, lines_max=3)
    assert capsys.readouterr().err.splitlines()[-1] == "  │ … more; --json has all of it"
