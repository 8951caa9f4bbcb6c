"""The work of ``keelbox check``: finds the scripts, has each parsed behind the wall, and collects what is wrong."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeAlias

import anyio

from keelbox.checks import find_hints
from keelbox.cli.sandbox import open_sandbox
from keelbox.cli.secrets import secret_source
from keelbox.cli.sources import Sources
from keelbox.cli.target import find_target, has_registry
from keelbox.egress.secrets_source import ENVIRONMENT_PREFIX
from keelbox.errors import UsageError
from keelbox.limits import effective
from keelbox.project import Project, open_project
from keelbox.secrets_file import SECRETS_FILE_NAME
from keelbox_sandbox.contract import FailureCode, Inspection, Limits, Sandbox, Script, ScriptError
from keelbox_sandbox.wasm.failure import MISSING_HINTS

__all__ = ["Finding", "Report", "check_path"]

_SCRIPT_ENDINGS = (".js", ".mjs")

Severity: TypeAlias = Literal["error", "hint"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing that is wrong, or may be."""

    file: str
    line: int
    """From 1; 0: the file as a whole."""
    column: int
    severity: Severity
    rule: str
    message: str
    hint: str | None = None

    @property
    def place(self) -> str:
        """``file:line:column``."""
        return f"{self.file}:{self.line}:{self.column}" if self.line else self.file


@dataclass(slots=True, kw_only=True)
class Report:
    """What a check found."""

    scripts: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    """Each script that was checked: its entry, the tool's name if it has one, and its modules."""
    skipped: list[str] = field(default_factory=list[str])
    """Tools that are no scripts."""
    findings: list[Finding] = field(default_factory=list[Finding])

    @property
    def failed(self) -> bool:
        """Whether something is wrong; hints do not count."""
        return any(finding.severity == "error" for finding in self.findings)

    def summary(self) -> str:
        """Say it in one line."""
        errors_count = sum(finding.severity == "error" for finding in self.findings)
        parts = [_count(len(self.scripts), "script"), _count(errors_count, "error")]
        parts.append(_count(len(self.findings) - errors_count, "hint"))
        if self.skipped:
            parts.append(f"not checked, because they are no scripts: {', '.join(map(repr, self.skipped))}")
        return ", ".join(parts)

    def document(self) -> dict[str, Any]:
        """Get it as JSON (docs/reference/cli.md)."""
        names = ("file", "line", "column", "severity", "rule", "message", "hint")
        return {
            "status": "failed" if self.failed else "ok",
            "code": "check-failed" if self.failed else None,
            "message": self.summary(),
            "scripts": self.scripts,
            "skipped": self.skipped,
            "findings": [{name: getattr(finding, name) for name in names} for finding in self.findings],
        }


async def check_path(path: Path) -> Report:
    """Check a script, a project or a folder.

    Raises:
        UsageError: there is nothing to check.
        ConfigError: a project's registry or limits have faults.
    """
    async with open_sandbox() as sandbox:
        checker = _Checker(sandbox)
        await checker.check(path)
        return checker.report


class _Checker:
    def __init__(self, sandbox: Sandbox) -> None:
        self.sandbox = sandbox
        self.report = Report()
        self.hinted: set[str] = set()

    async def check(self, path: Path) -> None:
        if not await anyio.Path(path).is_dir():
            await self.check_script(path)
        elif has_registry(path):
            await self.check_project(path)
        else:
            await self.check_folder(path)

    async def check_script(self, path: Path) -> None:
        target = find_target(str(path), project=None, limits_file=None)
        tool = None if target.declaration is None else target.declaration.name
        limits, _ = target.effective_limits(())
        modules = await self.parse(target.folder, target.entry, shown=path.parent, limits=limits, tool=tool)
        self.require_exec(path.parent, target.entry, modules)

    async def check_project(self, root: Path) -> None:
        project = open_project(root)
        for tool in project.registry.tools.values():
            if tool.type != "script":
                self.report.skipped.append(tool.name)
                continue
            limits, _ = effective(project.limits, tool.name, tool.limits)
            modules = await self.parse(root, tool.entry, shown=root, limits=limits, tool=tool.name)
            self.require_exec(root, tool.entry, modules)
        self.look_for_secrets(project)

    def look_for_secrets(self, project: Project) -> None:
        """Say which declared secrets have no value on this machine; where the tools run, it may be there."""
        source = secret_source(project.root)
        for tool in project.registry.tools.values():
            for secret in tool.secrets:
                if source.get(secret.name) is None:
                    line = project.registry.secret_lines.get((tool.name, secret.name), 0)
                    self.add(
                        project.registry.path,
                        line,
                        int(line > 0),
                        "hint",
                        "secret-unset",
                        f"secret {secret.name} of {tool.name!r} has no value here: requests that need it are denied",
                        f"set {ENVIRONMENT_PREFIX}{secret.name}, or write {secret.name} into {SECRETS_FILE_NAME}",
                    )

    async def check_folder(self, root: Path) -> None:
        names = sorted(_scripts_below(root))
        if not names:
            raise UsageError(f"nothing to check in {root}: no registry and no {' or '.join(_SCRIPT_ENDINGS)} file")
        parsed = {name: await self.parse(root, name, shown=root, limits=Limits()) for name in names}
        imported = {each for modules in parsed.values() for module in modules.values() for each in module.imports}
        for name in names:
            if name not in imported:  # what others import is a helper, and needs no exec
                self.require_exec(root, name, parsed[name], severity="hint")

    async def parse(
        self, folder: Path, entry: str, *, shown: Path, limits: Limits, tool: str | None = None
    ) -> Mapping[str, Inspection]:
        """Parse a script and all that it imports; gives nothing if that fails.

        Args:
            folder: where its modules are.
            entry: its entry.
            shown: the folder as the findings name it.
            limits: for its size, and for parsing it.
            tool: the name of the tool that it is the entry of.
        """
        modules: Mapping[str, Inspection] = {}
        sources = Sources(folder, limits)
        try:
            script = await self.sandbox.gather(entry, sources.read, limits)
            modules = await self.sandbox.inspect(script, limits)
            self.look_for_hints(script, shown)
        except ScriptError as error:
            file, line, column = sources.place(error) or (entry, 0, 0)
            self.add(shown / file, line, column, "error", error.code, error.message, error.hint)
        self.report.scripts.append({"entry": str(shown / entry), "tool": tool, "modules": sorted(modules)})
        return modules

    def require_exec(
        self, shown: Path, entry: str, modules: Mapping[str, Inspection], *, severity: Severity = "error"
    ) -> None:
        if entry in modules and "exec" not in modules[entry].exports:
            message = "exports no exec, so it cannot be a tool"
            hint = "write export const exec = async (input, ambient, ctx) => { … }"
            self.add(shown / entry, 0, 0, severity, FailureCode.NO_EXEC, message, hint)

    def look_for_hints(self, script: Script, shown: Path) -> None:
        for name, source in script.modules.items():
            if str(shown / name) not in self.hinted:
                self.hinted.add(str(shown / name))
                for hint in find_hints(name, source, MISSING_HINTS):
                    self.add(shown / name, hint.line, hint.column, "hint", hint.rule, hint.message, hint.hint)

    def add(
        self, file: Path, line: int, column: int, severity: Severity, rule: str, message: str, hint: str | None
    ) -> None:
        finding = Finding(
            file=str(file), line=line, column=column, severity=severity, rule=rule, message=message, hint=hint
        )
        if finding not in self.report.findings:  # a helper's fault shows up with each tool that imports it
            self.report.findings.append(finding)


def _scripts_below(root: Path) -> Iterator[str]:
    """Name the scripts of a folder and the folders in it, but not of hidden ones or of installed packages."""
    for folder, folders, files in os.walk(root):
        folders[:] = [name for name in folders if not name.startswith(".") and name != "node_modules"]
        below = Path(folder).relative_to(root)
        yield from ((below / name).as_posix() for name in files if name.endswith(_SCRIPT_ENDINGS))


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
