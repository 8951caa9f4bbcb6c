"""Who imports whom (docs/concepts/architecture.md), which names are public, and what lies in the top folders."""

from __future__ import annotations

import ast
import tomllib
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

TOP = Path(__file__).parents[2]
PROJECT = tomllib.loads((TOP / "pyproject.toml").read_text("utf-8"))
OURS = ("keelbox", "keelbox_sandbox")

PUBLIC = {"keelbox.cli": ["main"], "keelbox_sandbox.wasm": ["WasmSandbox"]}
"""What a package itself gives; the others only hold modules."""

RUNTIMES = ("keelbox_sandbox.wasm",)
ABOVE_EGRESS = tuple(
    f"keelbox.{name}"
    for name in ("cli", "conversation", "ops", "project", "registry", "registry_rules", "run_ops", "runner", "store")
)


def modules() -> Iterator[tuple[str, Path]]:
    """Every module of both packages, by dotted name."""
    for root in (TOP / "host", TOP / "sandbox"):
        for path in sorted(root.rglob("*.py")):
            yield ".".join(path.relative_to(root).with_suffix("").parts).removesuffix(".__init__"), path


MODULES = dict(modules())
each_module = pytest.mark.parametrize("module", MODULES)


def imports_of(module: str) -> set[str]:
    """What a module imports, inside functions too, as absolute names."""
    path = MODULES[module]
    package = module if path.name == "__init__.py" else module.rpartition(".")[0]
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            above = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
            base = ".".join([*above, *([node.module] if node.module else [])])
            names |= {base} | {f"{base}.{alias.name}" for alias in node.names}
    return names


def within(name: str, *roots: str) -> bool:
    return any(name == root or name.startswith(f"{root}.") for root in roots)


def own(module: str) -> set[str]:
    """The modules of ours that a module imports."""
    return {name for name in imports_of(module) if name in MODULES and within(name, *OURS)}


def reached_from(module: str) -> set[str]:
    """All modules of ours that a module imports, and that those import."""
    found, left = {module}, [module]
    while left:
        new = own(left.pop()) - found
        found |= new
        left += new
    return found


@pytest.mark.parametrize("module", [name for name in MODULES if within(name, "keelbox_sandbox")])
def test_wall_knows_nothing_of_its_host(module: str) -> None:
    assert not [name for name in imports_of(module) if within(name, "keelbox")]


@pytest.mark.parametrize("module", ["keelbox_sandbox.contract", "keelbox_sandbox.codec"])
def test_contract_knows_no_runtime(module: str) -> None:
    assert own(module) <= {"keelbox_sandbox", "keelbox_sandbox.contract", "keelbox_sandbox.codec"}


@pytest.mark.parametrize("module", [name for name in MODULES if within(name, "keelbox")])
def test_only_the_command_line_names_a_runtime(module: str) -> None:
    named = [name for name in own(module) if within(name, *RUNTIMES)]

    assert within(module, "keelbox.cli") or not named


@pytest.mark.parametrize("module", [name for name in MODULES if within(name, "keelbox.egress")])
def test_egress_knows_no_tools_and_no_conversations(module: str) -> None:
    assert not [name for name in own(module) if within(name, *ABOVE_EGRESS)]


def test_run_does_not_know_files() -> None:
    assert not reached_from("keelbox.runner") & {"keelbox.project", "keelbox.registry", "keelbox.limits"}


@pytest.mark.parametrize("module", [name for name in MODULES if not within(name, "keelbox.cli", "keelbox.__main__")])
def test_nothing_imports_the_command_line(module: str) -> None:
    assert not [name for name in imports_of(module) if within(name, "keelbox.cli")]


@each_module
def test_module_imports_nothing_that_is_banned(module: str) -> None:
    banned = PROJECT["tool"]["ruff"]["lint"]["flake8-tidy-imports"]["banned-api"]

    assert set(banned) == {"asyncio", "pickle", "marshal"}
    assert not [name for name in imports_of(module) if within(name, *banned)]


def test_wall_has_the_bans_of_the_root_and_one_more() -> None:
    root = PROJECT["tool"]["ruff"]["lint"]["flake8-tidy-imports"]["banned-api"]
    wall = tomllib.loads((TOP / "sandbox/ruff.toml").read_text("utf-8"))["lint"]["flake8-tidy-imports"]["banned-api"]

    assert wall == {**root, "keelbox": wall["keelbox"]}


@each_module
def test_listed_names_are_there(module: str) -> None:
    loaded = import_module(module)

    assert all(hasattr(loaded, name) for name in getattr(loaded, "__all__", ()))


@pytest.mark.parametrize("package", [name for name, path in MODULES.items() if path.name == "__init__.py"])
def test_package_gives_what_is_public_and_no_more(package: str) -> None:
    assert getattr(import_module(package), "__all__", []) == PUBLIC.get(package, [])


@pytest.mark.parametrize("folder", ["host", "sandbox", "stdlib", "tools"])
def test_top_folder_is_no_package(folder: str) -> None:
    assert not (TOP / folder / "__init__.py").exists()


@pytest.mark.parametrize("package", ["host/keelbox", "sandbox/keelbox_sandbox"])
def test_package_says_that_it_is_typed(package: str) -> None:
    assert (TOP / package / "py.typed").is_file()


def test_checkers_see_every_folder_with_code() -> None:
    folders = {path.relative_to(TOP).parts[0] for path in TOP.glob("[!.]*/**/*.py")} - {"build", "dist"}

    assert set(PROJECT["tool"]["mypy"]["files"]) == set(PROJECT["tool"]["pyright"]["include"]) == folders
