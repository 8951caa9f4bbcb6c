"""Links between documents lead somewhere, and each folder's README has a line for each of its files."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

TOP = Path(__file__).parents[2]
FOLDERS = ("docs", "host", "sandbox", "stdlib", "tests", "tools", "bench")
PAGES = [*TOP.glob("*.md"), *(page for folder in FOLDERS for page in (TOP / folder).rglob("*.md"))]


def prose(page: Path) -> str:
    return re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)


def anchors(page: Path) -> set[str]:
    headings = re.findall(r"^#+ (.+)$", prose(page), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(TOP).as_posix())
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)\s]+)\)", prose(page)):
        if target.startswith("https://"):
            continue
        name, _, anchor = target.partition("#")
        linked = (page.parent / name).resolve() if name else page
        assert linked.exists(), target
        assert not anchor or anchor in anchors(linked), target


def test_every_document_is_in_the_index() -> None:
    index = (TOP / "docs/README.md").read_text(encoding="utf-8")
    for page in (TOP / "docs").rglob("*.md"):
        assert page.name == "README.md" or f"({page.relative_to(TOP / 'docs').as_posix()})" in index


@pytest.mark.parametrize(
    ("folder", "pattern"),
    [
        ("host", "**/*.py"),
        ("sandbox", "**/*.py"),
        ("sandbox", "**/*.[ch]"),
        ("stdlib", "**/*.js"),
        ("tools", "**/*.js"),
    ],
)
def test_readme_has_a_line_for_each_file(folder: str, pattern: str) -> None:
    text = (TOP / folder / "README.md").read_text(encoding="utf-8")
    named = re.findall(r"^\| `([^`]+)`", text, re.MULTILINE)
    for file in (TOP / folder).glob(pattern):
        if file.name != "__init__.py":
            path = file.relative_to(TOP / folder).as_posix()
            assert any(path == name or path.endswith(f"/{name}") for name in named), path


@pytest.mark.parametrize("folder", ["host", "sandbox", "stdlib"])
def test_readme_names_no_file_that_is_gone(folder: str) -> None:
    text = (TOP / folder / "README.md").read_text(encoding="utf-8")
    for name in re.findall(r"^\| `([^`]+)`", text, re.MULTILINE):
        assert any((TOP / folder).rglob(name)), name
