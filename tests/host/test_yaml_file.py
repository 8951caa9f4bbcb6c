"""Files that a person wrote: values by YAML 1.2, every place, and every refusal at once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keelbox.errors import ConfigError
from keelbox.yaml_file import parse_yaml, read_yaml_file
from keelbox_sandbox.codec import encode


def refused(text: str, *, strict_json: bool = False) -> list[str]:
    try:
        parse_yaml(text, "f", strict_json=strict_json).refuse()
    except ConfigError as error:
        return [str(fault) for fault in error.faults]
    return []


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("no", "no"),
        ("on", "on"),
        ("12:30:45", "12:30:45"),
        ("2024-01-01", "2024-01-01"),
        ("1_000", "1_000"),
        ("<<", "<<"),
        ("017", 17),
        ("0o17", 15),
        ("0x1F", 31),
        ("-3", -3),
        ("1e3", 1000.0),
        (".5", 0.5),
        ("True", True),
        ("~", None),
        ('"1"', "1"),
        ("'true'", "true"),
        ("|\n a\n b\n", "a\nb\n"),
        ('"\\ud83d\\ude00"', "😀"),
    ],
)
def test_scalar_follows_core_schema(text: str, value: Any) -> None:
    found = parse_yaml(text, "f").data

    assert found == value
    assert type(found) is type(value)


def test_empty_file_holds_nothing() -> None:
    document = parse_yaml("# only a comment\n", "f")

    assert document.data is None
    assert document.faults == ()


def test_key_and_value_have_places() -> None:
    document = parse_yaml("a:\n  - name: x\n    wall_s:   3\n", "f")

    value = document.fault(("a", 0, "wall_s"), "m")
    key = document.fault(("a", 0, "wall_s"), "m", at="key")

    assert (value.line, value.column) == (3, 15)
    assert (key.line, key.column) == (3, 5)
    assert document.line(("a", 0, "wall_s")) == 3


def test_absent_value_stands_at_its_key() -> None:
    document = parse_yaml("a:\n\n\nb: 1\n", "f")

    fault = document.fault(("a",), "m")

    assert (fault.line, fault.column) == (1, 1)


def test_absent_key_stands_at_its_holder() -> None:
    fault = parse_yaml("a:\n  b: 1\n", "f").fault(("a", "c"), "m")

    assert (fault.line, fault.column, fault.path) == (1, 1, "a.c")


def test_path_calls_items_by_name() -> None:
    document = parse_yaml("tools:\n  - name: Current Weather\n    hosts: [a]\n  - {}\n", "f")

    assert document.path(("tools", 0, "hosts", 0)) == "tools.Current Weather.hosts[0]"
    assert document.path(("tools", 1)) == "tools[1]"


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("a: 1\nb: 2\na: 3\n", "f:3:1: a: duplicate key; the first is in line 1"),
        ("a: &x 1\n", "f:1:4: a: anchor &x is not supported; take it away"),
        ("a: *x\n", "f:1:4: a: alias *x is not supported; write the value out"),
        ("a: !!python/name:os.system x\n", "f:1:4: a: tag !!python/name:os.system is not supported; take it away"),
        ("a: !own [1]\n", "f:1:4: a: tag !own is not supported; take it away"),
        ("a: 1\n---\nb: 2\n", "f:2:1: a second document begins here; a file holds one"),
        ("1: a\n", 'f:1:1: 1: a key must be text; write it "1"'),
        ("null: a\n", 'f:1:1: null: a key must be text; write it "null"'),
        ("? [a]\n: 1\n", "f:1:3: ?: a key must be text"),
        ("a: .nan\n", "f:1:4: a: must be a finite number, got .nan"),
        ("a: -.inf\n", "f:1:4: a: must be a finite number, got -.inf"),
        ("a: 1e999\n", "f:1:4: a: must be a finite number, got 1e999"),
        (
            "a: 9007199254740992\n",
            "f:1:4: a: the integer 9007199254740992 is beyond ±(2^53 - 1); write it as text, in quotes",
        ),
        ('a: "\\ud83d"\n', "f:1:4: a: holds half of a surrogate pair"),
        ("a: [1\nb: 2\n", "f:2:2: is not YAML: expected ',' or ']', but got ':'"),
        ('a: "x\x07"\n', "f:1:6: holds the character U+0007, which must be written as an escape"),
    ],
)
def test_refusal_has_its_place(text: str, fault: str) -> None:
    assert refused(text) == [fault]


def test_tab_indent_is_explained() -> None:
    (fault,) = refused("a:\n\tb: 1\n")

    assert fault.startswith("f:2:1: is not YAML")
    assert fault.endswith("indent with spaces")


def test_huge_integer_costs_nothing() -> None:
    (fault,) = refused(f"a: {'9' * 100_000}\n")

    assert "beyond" in fault
    assert len(fault) < 150


@pytest.mark.parametrize("text", ["a: " + "[" * 5000, "- " * 5000, "".join(f"{' ' * n}k:\n" for n in range(200))])
def test_nesting_is_bounded(text: str) -> None:
    (fault,) = refused(text)

    assert fault.endswith("is nested deeper than 64")


def test_all_refusals_come_at_once() -> None:
    faults = refused("a: &x 1\na: *x\nb: !!str 2\n")

    assert [fault.split(":")[1] for fault in faults] == ["1", "2", "2", "3"]


def test_first_of_duplicate_keys_is_kept() -> None:
    document = parse_yaml("a: 1\na: 2\n", "f")

    assert document.data == {"a": 1}
    assert document.line(("a",)) == 1


def test_json_is_strict() -> None:
    assert refused('{"a": [1, 2,]}', strict_json=True) == ["f:1:13: is not JSON: Expecting value"]
    assert refused("{a: 1}", strict_json=True) != []
    assert refused("{a: 1}") == []


def test_json_may_be_indented_with_tabs() -> None:
    document = parse_yaml('{\n\t"a": "\\/\\ud83d\\ude00"\n}\n', "f", strict_json=True)

    document.refuse()
    assert document.data == {"a": "/😀"}
    assert document.fault(("a",), "m").line == 2


def test_json_file_is_known_by_name(tmp_path: Path) -> None:
    path = tmp_path / "tools.json"
    path.write_text("a: 1\n", encoding="utf-8")

    with pytest.raises(ConfigError, match="is not JSON"):
        read_yaml_file(path).refuse()


def test_byte_order_mark_is_skipped(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    path.write_bytes(b"\xef\xbb\xbfa: 1\n")

    assert read_yaml_file(path).data == {"a": 1}


def test_file_that_is_not_utf8_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    path.write_bytes(b"a: 1\nb: \xff\n")

    with pytest.raises(ConfigError, match=r"a.yaml:2:4: is not UTF-8 from here on"):
        read_yaml_file(path)


def test_large_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    path.write_text("a: 1\n", encoding="utf-8")

    assert read_yaml_file(path, bytes_max=5).data == {"a": 1}
    with pytest.raises(ConfigError, match="is larger than 4 bytes"):
        read_yaml_file(path, bytes_max=4)


def test_missing_file_and_folder_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="limits: cannot be read: No such file"):
        read_yaml_file(tmp_path / "none.yaml", shown_as="limits")
    with pytest.raises(ConfigError, match="limits: is not a file"):
        read_yaml_file(tmp_path, shown_as="limits")


_JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53) + 1, 2**53 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    # Control characters beside those that JSON escapes, and line separators, are written raw by the codec.
    | st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs", "Cn", "Co", "Zl", "Zp"])),
    lambda inner: st.lists(inner) | st.dictionaries(st.text("abc ", max_size=5), inner),
    max_leaves=10,
)


@given(_JSON)
def test_json_reads_as_itself(value: Any) -> None:
    text = encode({"value": value}).decode()

    document = parse_yaml(text, "f", strict_json=True)

    document.refuse()
    assert document.data == {"value": value}
    assert document.fault(("value",), "m").column == len('{"value":') + 1
