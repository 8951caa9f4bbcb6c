"""The hostile corpus: the guest programs in ``tests/guests``, and sources that are too long to stand in a file.

The first line of a program says how it ends: ``// Ends as cpu-exceeded.``
"""

from __future__ import annotations

from pathlib import Path

from tests.wall import program

__all__ = ["CLEAN", "ENDS", "SOURCES", "source"]

CLEAN = "a clean return"

SOURCES = {
    "compile_many_private_names": "class A {" + "".join(f"#a{i};" for i in range(90_000)) + "}",
    "compile_many_variables": "{" + "".join(f"let a{i};" for i in range(60_000)) + "}",
    "compile_many_parentheses": "".join("(" * 200 + "1" + ")" * 200 + ";" for _ in range(2_500)),
    "compile_many_imports": "".join(f"import './a{i}.js';" for i in range(45_000)),
    "compile_many_functions": "()=>{};" * 140_000,
    "compile_many_classes": "x=[" + "class{}," * 120_000 + "]",
    "compile_many_arrays": "x=[" + "[]," * 300_000 + "]",
    "compile_many_templates": "`" + "${1}" * 200_000 + "`",
    "compile_many_blocks": "{" * 500_000 + "}" * 500_000,
    "compile_many_groups": "/" + "(?:" * 200_000 + ")" * 200_000 + "/",
    "compile_a_long_integer": "1" * 1_000_000 + "n",
}
"""Sources of 0.2 to 1 MiB that are slow to compile, or need much memory or stack for it."""


def _ends(name: str) -> str:
    first = program(name).splitlines()[0]
    assert first.startswith("// Ends as ") and first.endswith("."), f"{name} does not say how it ends"
    return first.removeprefix("// Ends as ").removesuffix(".")


ENDS = {path.stem: _ends(path.stem) for path in sorted((Path(__file__).parent / "guests").glob("*.js"))}
"""Failure code, or `CLEAN`, by program."""


def source(name: str) -> str:
    """The source of a member of the corpus."""
    return SOURCES[name] + "\nexport const exec = () => 1;" if name in SOURCES else program(name)
