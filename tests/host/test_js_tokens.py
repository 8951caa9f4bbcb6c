"""The scanner behind the hints: what it takes for a name, and that nothing makes it slow."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keelbox.js_tokens import match_brackets, scan


def names(source: str) -> list[str]:
    return [token.text for token in scan(source) if token.kind == "name"]


@pytest.mark.parametrize(
    "source",
    [
        "// fetch\na",
        "/* fetch\n */ a",
        "#!/usr/bin/env fetch\na",
        "'fetch\\'' + a",
        '"fetch\\"" + a',
        "`fetch ${ a } fetch`",
        "`fetch \\${ fetch } \\` fetch` + a",
        "`${ `fetch ${ a }` }`",
        "`${ { '}': 1 } }` + a",
        "/fetch/g, a",
        "/[/'\"]fetch/ + a",
        "(1) / 2; a / 1",
    ],
)
def test_only_code_is_taken_for_names(source: str) -> None:
    assert set(names(source)) == {"a"}


@pytest.mark.parametrize(
    ("source", "kinds"),
    [
        ("a / b / c", ["name", "punctuation", "name", "punctuation", "name"]),
        ("a = /b/", ["name", "punctuation", "regex"]),
        ("return /b/", ["name", "regex"]),
        ("if (a) /b'/", ["name", "punctuation", "name", "punctuation", "regex"]),
        ("(a) / b", ["punctuation", "name", "punctuation", "punctuation", "name"]),
        ("a?.b ?.5 : 1", ["name", "punctuation", "name", "punctuation", "number", "punctuation", "number"]),
        ("0x1F + 1e-3 + 1_000n", ["number", "punctuation", "number", "punctuation", "number"]),
    ],
)
def test_ambiguous_characters(source: str, kinds: list[str]) -> None:
    assert [token.kind for token in scan(source)] == kinds


def test_places_count_from_one() -> None:
    tokens = scan("a\r\n  /* x\n */ b\n`\n`, c")
    assert [(token.text, token.line, token.column) for token in tokens if token.kind == "name"] == [
        ("a", 1, 1),
        ("b", 3, 5),
        ("c", 5, 4),
    ]
    assert [token.first_on_line for token in tokens if token.kind == "name"] == [True, True, False]


def test_brackets_are_matched_over_nonsense() -> None:
    tokens = scan("f([a}) ) {b}")
    matched = {tokens[start].text + tokens[end].text for start, end in match_brackets(tokens).items()}
    assert matched == {"{}"}


@given(st.text(alphabet="'\"`${}()[]/\\*\n ab1.=<", max_size=60))
def test_any_text_is_scanned(source: str) -> None:
    assert sum(len(token.text) for token in scan(source)) <= len(source)


@pytest.mark.timeout(20)
@pytest.mark.parametrize(
    "piece", ["/*", "`${", '"', "/[", "1e", "(", "$", "a/", "/", "\\", "'\\", "`$", "\n", "Promise.all("]
)
def test_hostile_text_is_scanned_in_linear_time(piece: str) -> None:
    """A scan that looks at the rest of the text again from each place would need minutes for this."""
    source = piece * (128 * 1024 // len(piece))
    match_brackets(scan(source))
