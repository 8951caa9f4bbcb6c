"""A YAML or JSON file that a person wrote, with the place of everything in it.

Glossary:
    loc: where in the document, as a tuple of keys and list indexes (pydantic's word).
    path: the same for people: ``tools.Current Weather.limits.wall_s``; a list item is called by its ``name``.

Invariants:
    1. ``data`` holds only what strict JSON holds: dict with text keys, list, str, int, float (finite), bool, None.
    2. Plain scalars are read by the core schema of YAML 1.2 (section 10.3.2): ``no`` and ``12:30`` are text.
    3. What is refused (second document, duplicate key, anchor, alias, tag, …) is collected, not raised, so that one
       `ConfigError` can tell all faults of the file; only a file that cannot be read on raises at once.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NoReturn, TypeVar

from keelbox.errors import ConfigError, Fault
from keelbox.yaml_tree import Loc, Place, Tree, TreeError, read_tree
from keelbox_sandbox.codec import CodecError, decode, encode

if TYPE_CHECKING:
    from pydantic import BaseModel

    ModelT = TypeVar("ModelT", bound=BaseModel)

__all__ = ["FILE_BYTES_MAX", "Loc", "YamlFile", "parse_yaml", "read_yaml_file"]

FILE_BYTES_MAX = 1024 * 1024
"""Largest file that is read unless the caller says otherwise: about three seconds of parsing."""

_CODEC_PLACE = re.compile(r" \(line (\d+), column (\d+)\)\Z")


@dataclass(frozen=True, slots=True, kw_only=True)
class YamlFile:
    """One document and where everything in it stands.

    Attributes:
        file: the name that faults show.
        data: the value; None for an empty file.
        faults: what is refused about the document itself, in file order.
    """

    file: str
    data: Any
    faults: tuple[Fault, ...]
    _tree: Tree = field(repr=False)

    def at(self, loc: Loc) -> Any:
        """Get the value at a loc.

        Raises:
            LookupError: there is none.
        """
        value = self.data
        for step in loc:
            value = value[step]
        return value

    def line(self, loc: Loc) -> int:
        """Get the line of a key (or list item), from 1; 0 if it is not in the file."""
        return self._tree.keys.get(loc, (0, 0))[0]

    def path(self, loc: Loc) -> str:
        """Write a loc for people."""
        words: list[str] = []
        for depth, step in enumerate(loc):
            if isinstance(step, str):
                words.append(step)
            elif (name := self._name(loc[: depth + 1])) is not None:
                words.append(name)
            elif words:
                words[-1] += f"[{step}]"
            else:
                words.append(f"[{step}]")
        return ".".join(words)

    def fault(self, loc: Loc, message: str, *, at: Literal["key", "value"] = "value") -> Fault:
        """Make the fault of what stands at a loc: at its value or its key; if it is absent, at what should hold it."""
        held: Loc = loc
        while held and held not in self._tree.keys:
            held, at = held[:-1], "key"
        line, column = (self._tree.keys if at == "key" else self._tree.values).get(held, (0, 0))
        return Fault(file=self.file, line=line, column=column, path=self.path(loc), message=message)

    def refuse(self, faults: Iterable[Fault] = ()) -> None:
        """Raise if the document or the caller has faults; return if there are none.

        Raises:
            ConfigError: the document's faults and the given ones, in file order. Where the document has a fault, only
                that is told: what the caller found at the same place follows from it.
        """
        refused = {(fault.line, fault.column) for fault in self.faults if fault.line}
        every = [*self.faults, *(fault for fault in faults if (fault.line, fault.column) not in refused)]
        if every:
            raise ConfigError(sorted(dict.fromkeys(every), key=lambda fault: (fault.line, fault.column)))

    def validated(self, model: type[ModelT]) -> ModelT:
        """Read the document as a pydantic model: strictly, as JSON (a list is a tuple, a text an enum's value).

        Raises:
            ConfigError: every fault of the document and of the model, each with its place.
        """
        from pydantic import ValidationError

        from keelbox.yaml_faults import model_faults

        try:
            value = model.model_validate_json(encode(self.data), strict=True)
        except ValidationError as error:
            self.refuse(model_faults(self, error, model))
            raise
        self.refuse()
        return value

    def _name(self, loc: Loc) -> str | None:
        try:
            name = self.at(loc)["name"]
        except (LookupError, TypeError):
            return None
        return name if isinstance(name, str) and name else None


def read_yaml_file(path: Path, *, shown_as: str | None = None, bytes_max: int = FILE_BYTES_MAX) -> YamlFile:
    """Read a file as YAML, or as strict JSON if its name ends in ``.json``. Blocks.

    Args:
        path: the file.
        shown_as: the name that faults show; the path by default.
        bytes_max: a larger file is refused unread.

    Raises:
        ConfigError: it cannot be opened, is too large, is not UTF-8 or not YAML (JSON).
    """
    file = shown_as or str(path)
    try:
        if path.exists() and not path.is_file():
            _stop(file, "is not a file")
        with path.open("rb") as stream:
            data = stream.read(bytes_max + 1)
    except OSError as error:
        _stop(file, f"cannot be read: {error.strerror or error}")
    if len(data) > bytes_max:
        _stop(file, f"is larger than {bytes_max} bytes")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        before = data[: error.start]
        column = error.start - (before.rfind(b"\n") + 1) + 1
        _stop(file, "is not UTF-8 from here on", (before.count(b"\n") + 1, column))
    return parse_yaml(text, file, strict_json=path.suffix.lower() == ".json")


def parse_yaml(text: str, file: str, *, strict_json: bool = False) -> YamlFile:
    """Read a text; see `read_yaml_file`.

    Raises:
        ConfigError: it is not YAML.
    """
    try:
        tree = read_tree(text)
    except TreeError as error:
        _stop(file, error.message, error.place)
    refused = list(tree.refused)
    if strict_json and not refused:
        try:
            tree = replace(tree, value=decode(text))
        except CodecError as error:
            found = _CODEC_PLACE.search(error.reason)
            place = (int(found[1]), int(found[2])) if found else (0, 0)
            refused.append(((), place, f"is not JSON: {_CODEC_PLACE.sub('', str(error))}"))
    bare = YamlFile(file=file, data=tree.value, faults=(), _tree=tree)
    faults = [
        Fault(file=file, line=line, column=column, path=bare.path(loc), message=message)
        for loc, (line, column), message in refused
    ]
    return replace(bare, faults=tuple(faults))


def _stop(file: str, message: str, place: Place = (0, 0)) -> NoReturn:
    raise ConfigError([Fault(file=file, line=place[0], column=place[1], path="", message=message)])
