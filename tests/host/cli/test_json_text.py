"""JSON on stdout: the same value, in UTF-8, and nothing that a terminal acts upon."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from keelbox.cli.json_text import json_text

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=10,
)


@given(VALUES)
def test_value_stays_the_same(value: object) -> None:
    assert json.loads(json_text(value)) == value
    assert json.loads(json_text(value, indent=2)) == value


@given(st.text())
def test_no_control_character_is_left(text: str) -> None:
    written = json_text([text])
    assert not any(0x7F <= ord(char) <= 0x9F or ord(char) < 0x20 for char in written)
    assert not set(written) & set("\u202a\u202e\u2066\u2069\u2028\u200b\ufeff")
    written.encode("utf-8")


def test_words_stay_readable() -> None:
    assert json_text({"град": "София 漢字 👩‍👩‍👧"}) == '{"град":"София 漢字 👩‍👩‍👧"}'
