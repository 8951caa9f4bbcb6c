"""What a call is given on the command line: the input of ``exec``, the text of ``!*context``, the ambient values."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, cast

from keelbox.errors import UsageError
from keelbox_sandbox.codec import CodecError, decode, encode

if TYPE_CHECKING:
    from keelbox.registry import ToolDeclaration

__all__ = ["read_ambient", "read_input"]

_STDIN = "-"


def read_input(
    declaration: ToolDeclaration | None, *, input_text: str | None, context_text: str | None
) -> tuple[Any, str]:
    """Work out the first argument of ``exec`` and the context's text.

    Args:
        declaration: the tool, None for a script that is none.
        input_text: JSON of the input.
        context_text: what a model would write; without an input text it is the input too, as JSON if the tool has an
            input schema. For a script without a declaration, a JSON object or array is parsed, and all else is text.

    Returns:
        The input (None if there is neither text), and the context's text (the input's JSON if there is none).

    Raises:
        UsageError: the input is not strict JSON, or both come from stdin.
        InputError: the tool's schema rejects it; every field is named.
    """
    if input_text == _STDIN == context_text:
        raise UsageError("--input and --context cannot both read stdin", hint="give one of them as text")
    if context_text == _STDIN:
        context_text = _read_stdin("--context")
    value: Any = None
    if input_text is not None:
        value = _decode(_read_stdin("--input") if input_text == _STDIN else input_text, "--input")
    elif context_text is not None:
        value = _context_value(declaration, context_text)
    if declaration is not None:
        from keelbox.registry import check_input

        check_input(declaration, value)
    if context_text is None:
        context_text = "" if input_text is None else encode(value).decode("utf-8")
    return value, context_text


def read_ambient(text: str | None) -> dict[str, Any]:
    """Read the ambient values: a JSON object.

    Raises:
        UsageError: it is something else.
    """
    value: object = {} if text is None else _decode(text, "--ambient")
    if not isinstance(value, dict):
        raise UsageError("--ambient is not a JSON object", hint='write it as {"userId": "u1"}')
    return cast("dict[str, Any]", value)


def _context_value(declaration: ToolDeclaration | None, text: str) -> Any:
    if declaration is not None:
        from keelbox.registry import input_from_context

        return input_from_context(declaration, text)
    if not text.lstrip().startswith(("{", "[")):
        return text
    try:
        return decode(text)
    except CodecError:
        return text


def _decode(text: str, option: str) -> Any:
    try:
        return decode(text)
    except CodecError as error:
        hint = 'quote it for the shell, as --input \'{"city":"Sofia"}\'; plain words go into --context'
        raise UsageError(f"{option} is not JSON: {error}", hint=hint) from None


def _read_stdin(option: str) -> str:
    data = sys.stdin.buffer.read()
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise UsageError(f"{option}: stdin is not UTF-8 (byte {error.start})") from None
