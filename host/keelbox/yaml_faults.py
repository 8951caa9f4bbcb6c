"""What pydantic found wrong with a file, as faults with places, in plain words."""

from __future__ import annotations

import json
import types
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Annotated, Any, Literal, Union, get_args, get_origin

from keelbox.errors import Fault

if TYPE_CHECKING:
    from pydantic import BaseModel, ValidationError

    from keelbox.yaml_file import Loc, YamlFile

__all__ = ["model_faults", "seen", "unknown_name"]

_SEEN_CHARACTERS_COUNT = 60

_WORDS = {
    "bool_type": "must be true or false",
    "dict_type": "must be a mapping of names to values",
    "enum": "must be {expected}",
    "float_type": "must be a number",
    "greater_than": "must be more than {gt}",
    "greater_than_equal": "must be at least {ge}",
    "int_from_float": "must be a whole number",
    "int_type": "must be a whole number",
    "less_than": "must be less than {lt}",
    "less_than_equal": "must be at most {le}",
    "list_type": "must be a list",
    "literal_error": "must be {expected}",
    "model_type": "must be a mapping of names to values",
    "string_pattern_mismatch": "must match {pattern}",
    "string_too_long": "must have at most {max_length} characters",
    "string_too_short": "must have at least {min_length} characters",
    "string_type": "must be text",
    "too_long": "must have at most {max_length} items",
    "too_short": "must have at least {min_length} items",
    "tuple_type": "must be a list",
    "union_tag_invalid": "must be of a kind that is known: {expected_tags}",
}


def model_faults(document: YamlFile, error: ValidationError, model: type[BaseModel]) -> list[Fault]:
    """Give each of pydantic's errors its place in the file."""
    faults: list[Fault] = []
    for detail in error.errors(include_url=False):
        loc, kind = _find(document, detail["loc"]), detail["type"]
        context = {name: _plain(value) for name, value in detail.get("ctx", {}).items()}
        if kind == "missing":
            faults.append(document.fault((*loc, detail["loc"][-1]), "is missing", at="key"))
        elif kind == "extra_forbidden":
            message = unknown_name(str(loc[-1]), _names(model, detail["loc"][:-1]))
            faults.append(document.fault(loc, message, at="key"))
        elif kind == "union_tag_not_found":
            faults.append(document.fault(loc, f"must say of which kind it is: {context['discriminator']} is missing"))
        elif kind == "value_error":
            faults.append(document.fault(loc, str(context["error"])))
        elif kind in _WORDS:
            message = f"{_WORDS[kind].format_map(context)}, got {seen(document.at(loc))}"
            faults.append(document.fault(loc, message))
        else:
            faults.append(document.fault(loc, detail["msg"][:1].lower() + detail["msg"][1:]))
    return faults


def unknown_name(name: str, known: Iterable[str]) -> str:
    """Say that a name is unknown, and the one that was meant or all that are known."""
    import difflib

    known = sorted(known)
    folded = {word.casefold().replace("-", "_"): word for word in known}
    close = difflib.get_close_matches(name.casefold().replace("-", "_"), folded, n=1)
    if close:
        return f"unknown name; did you mean {folded[close[0]]}?"
    return f"unknown name; known here: {', '.join(known)}" if known else "unknown name"


def seen(value: Any) -> str:
    """Show a value from a file, short."""
    if value is None:
        return "nothing"
    if isinstance(value, dict):
        return "a mapping"
    if isinstance(value, list):
        return "a list"
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _SEEN_CHARACTERS_COUNT else f"{text[:_SEEN_CHARACTERS_COUNT]}…"


def _plain(value: Any) -> Any:
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _find(document: YamlFile, loc: tuple[str | int, ...]) -> Loc:
    """Keep the steps of pydantic's loc that the file has; the others name a union's member or a missing key."""
    found: Loc = ()
    for step in loc:
        try:
            document.at((*found, step))
        except (LookupError, TypeError):
            continue
        found = (*found, step)
    return found


def _names(annotation: Any, loc: tuple[str | int, ...]) -> set[str]:
    """Collect the field names of the models that stand at a loc."""
    return {name for model in _models(annotation, loc) for name in _fields(model)}


def _tags(annotation: Any) -> set[Any]:
    """Collect what pydantic may call a union's member in a loc: its class, its tag, its literal ``type``."""
    from pydantic import BaseModel, Tag

    if get_origin(annotation) is Annotated:
        member, *marks = get_args(annotation)
        return _tags(member) | {mark.tag for mark in marks if isinstance(mark, Tag)}
    if not (isinstance(annotation, type) and issubclass(annotation, BaseModel)):
        return set()
    literals = (field for field in _fields(annotation).values() if get_origin(field) is Literal)
    return {annotation.__name__, *(value for literal in literals for value in get_args(literal))}


def _fields(model: type[BaseModel]) -> dict[str, Any]:
    return {field.alias or name: field.annotation for name, field in model.model_fields.items()}


def _models(annotation: Any, loc: tuple[str | int, ...]) -> Iterator[type[BaseModel]]:
    from pydantic import BaseModel

    origin, parts = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        yield from _models(parts[0], loc)
    elif origin in (Union, types.UnionType):
        chosen = [part for part in parts if loc and loc[0] in _tags(part)]
        for part in chosen or parts:
            yield from _models(part, loc[1:] if chosen else loc)
    elif isinstance(annotation, type) and issubclass(annotation, BaseModel):
        if not loc:
            yield annotation
        elif loc[0] in (fields := _fields(annotation)):
            yield from _models(fields[str(loc[0])], loc[1:])
    elif parts and loc:
        yield from _models(parts[-1] if len(parts) == 2 and isinstance(loc[0], str) else parts[0], loc[1:])
