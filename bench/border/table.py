"""Sections as aligned text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from .figures import Column, Row, Section

__all__ = ["render"]

_INDENT = "  "
_ABSENT = "–"


def render(section: Section) -> str:
    """Get the section's title, its heads with units, one line for each row, and its note."""
    return "\n".join(_lines(section))


def _lines(section: Section) -> Iterator[str]:
    names = [row.name for row in section.rows]
    cells = [[_cell(row, column) for column in section.columns] for row in section.rows]
    heads = [column.head for column in section.columns]
    name_width = max(map(len, names))
    widths = [max(map(len, column)) for column in zip(heads, *cells, strict=True)]
    targets = ["; ".join(_verdicts(row)) for row in section.rows]
    target_width = max(map(len, targets))

    yield section.title
    yield _line("", heads, "target" if target_width else "", "", name_width, widths, target_width)
    for row, row_cells, target in zip(section.rows, cells, targets, strict=True):
        yield _line(row.name, row_cells, target, row.note, name_width, widths, target_width)
    if section.note:
        yield f"{_INDENT}{section.note}"


def _line(
    name: str, cells: Sequence[str], target: str, note: str, name_width: int, widths: Sequence[int], target_width: int
) -> str:
    figures = "".join(f"{cell:>{width + 2}}" for cell, width in zip(cells, widths, strict=True))
    return f"{_INDENT}{name:<{name_width}}{figures}  {target:<{target_width}}  {note}".rstrip()


def _cell(row: Row, column: Column) -> str:
    value = row.figures.get(column.key)
    return _ABSENT if value is None else f"{value:,.{column.digits}f}"


def _verdicts(row: Row) -> Iterator[str]:
    for verdict in row.verdicts():
        yield f"{verdict['target']}: {'met' if verdict['met'] else 'MISSED'}"
