"""The one strict JSON codec: everything that crosses a boundary goes through it.

Python's own ``json`` takes NaN, Infinity, ``1e999``, duplicate keys (last wins) and lone surrogates, raises ValueError
on 5,000-digit integers and RecursionError on deep nesting; each of these became a wrong value or a traceback somewhere
else. Here they are one error, `CodecError`, which names the path.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

__all__ = ["DEPTH_COUNT", "INTEGER_MAX", "CodecError", "decode", "encode"]

DEPTH_COUNT = 64
"""Deepest nesting of a JSON value that crosses a boundary; the guest's exporter has the same number."""

INTEGER_MAX = 2**53 - 1
"""Largest integer that every side holds exactly (ECMAScript's Number.MAX_SAFE_INTEGER)."""

_INTEGER_DIGITS_COUNT = 17
_ENCODER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False)


class CodecError(ValueError):
    """A text is not strict JSON, or a value cannot become it.

    Attributes:
        reason: what is wrong, without the value.
        path: where, as a JSON pointer; empty for the whole.
    """

    def __init__(self, reason: str, path: str = "") -> None:
        super().__init__(f"{reason} at {path}" if path else reason)
        self.reason = reason
        self.path = path


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) != len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise CodecError(f"duplicate key {key[:80]!r}")
            seen.add(key)
    return value


def _constant(name: str) -> Any:
    raise CodecError(f"{name} is not JSON")


def _float(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise CodecError(f"number {text[:40]} is out of range")
    return value


def _int(text: str) -> int:
    if len(text) > _INTEGER_DIGITS_COUNT or abs(value := int(text)) > INTEGER_MAX:
        raise CodecError(f"integer {text[:40]} is beyond ±(2^53 - 1); send it as a string")
    return value


_DECODER = json.JSONDecoder(
    object_pairs_hook=_object, parse_constant=_constant, parse_float=_float, parse_int=_int, strict=True
)


def decode(text: str | bytes | bytearray | memoryview) -> Any:
    """Read one JSON value.

    Raises:
        CodecError: not UTF-8, not JSON, a duplicate key, a number that is not finite or not exact, a lone surrogate, or
            nesting deeper than `DEPTH_COUNT`.
    """
    if not isinstance(text, str):
        try:
            text = bytes(text).decode("utf-8")
        except UnicodeDecodeError as error:
            raise CodecError(f"not UTF-8 (byte {error.start})") from None
    try:
        value, end = _DECODER.raw_decode(text, _skip_space(text, 0))
    except json.JSONDecodeError as error:
        raise CodecError(f"{error.msg} (line {error.lineno}, column {error.colno})") from None
    except RecursionError:
        raise CodecError(f"nested deeper than {DEPTH_COUNT}") from None
    if _skip_space(text, end) != len(text):
        raise CodecError(f"something follows the value (character {end})")
    # Numbers were checked as they were read. What is left can only be wrong where these signs say so.
    if "\\u" in text or not text.isascii() or text.count("{") + text.count("[") > DEPTH_COUNT:
        _check(value, "", 0)
    return value


def encode(value: Any) -> bytes:
    """Write a JSON value as UTF-8, compact, keys in their own order.

    Raises:
        CodecError: the value is no JSON value; see `decode`. Tuples become arrays.
    """
    if not _is_simple(value, 0):
        _check(value, "", 0)
    return _ENCODER.encode(value).encode("utf-8")


def _is_simple(value: Any, depth: int) -> bool:
    """A quick yes for most values; a no means that `_check` must look closer (and can name the path)."""
    kind = type(value)  # pyright: ignore[reportUnknownVariableType]
    if kind is str:
        return value.isascii()  # type: ignore[no-any-return]
    if kind is int:
        return -INTEGER_MAX <= value <= INTEGER_MAX  # type: ignore[no-any-return]
    if kind is bool or value is None:
        return True
    if depth >= DEPTH_COUNT:
        return False
    if kind is dict:
        for key, item in value.items():
            if type(key) is not str or not key.isascii() or not _is_simple(item, depth + 1):
                return False
        return True
    if kind is list:
        return all(_is_simple(item, depth + 1) for item in value)
    return False


def _skip_space(text: str, index: int) -> int:
    while index < len(text) and text[index] in " \t\n\r":
        index += 1
    return index


def _check(value: Any, path: str, depth: int) -> None:
    if value is None or value is True or value is False:
        return
    if isinstance(value, str):
        if not value.isascii():
            try:
                value.encode("utf-8")
            except UnicodeEncodeError:
                raise CodecError("a lone surrogate", path) from None
        return
    if isinstance(value, int):
        if abs(value) > INTEGER_MAX:
            raise CodecError("an integer beyond ±(2^53 - 1); send it as a string", path)
        return
    if isinstance(value, float):
        if not math.isfinite(value):
            raise CodecError("a number that is not finite", path)
        return
    if depth >= DEPTH_COUNT:
        raise CodecError(f"nested deeper than {DEPTH_COUNT}", path[:200])
    if isinstance(value, Mapping):
        for key, item in value.items():  # pyright: ignore[reportUnknownVariableType]
            if not isinstance(key, str):
                raise CodecError("a key that is not a string", path)
            _check(key, path, depth)
            _check(item, f"{path}/{key[:80]}", depth + 1)
        return
    if isinstance(value, list | tuple):
        for index, item in enumerate(value):  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
            _check(item, f"{path}/{index}", depth + 1)
        return
    raise CodecError(f"a {type(value).__name__} is not JSON", path)
