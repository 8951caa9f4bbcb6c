"""What the figures were measured on: no host names, no paths."""

from __future__ import annotations

import hashlib
import os
import platform
import shutil
import subprocess
from importlib import metadata
from pathlib import Path
from typing import Any

from keelbox_sandbox.wasm.engine import guest_path

__all__ = ["facts", "load_average", "load_note", "node_version", "version_of"]

PACKAGES = ("wasmtime", "anyio", "quickjs-ng", "quickjs-rs", "modebox", "pydantic-monty")

LOAD_LIMIT = 1.0
"""A load average above it means that something else was running when the measuring began."""


def facts() -> dict[str, Any]:
    """Get cores, processor, system and versions."""
    guest = guest_path().read_bytes()
    return {
        "cores_count": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "processor": _processor(),
        "system": f"{platform.system()} {platform.release()} {platform.machine()}",
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "guest": {"sha256": hashlib.sha256(guest).hexdigest(), "bytes": len(guest)},
        "versions": {name: version_of(name) for name in PACKAGES} | {"node": node_version()},
    }


def version_of(package: str) -> str | None:
    """Get the installed version, None if it is not installed."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def load_average() -> float | None:
    """Get the load average of the last minute, None where the system keeps none."""
    return os.getloadavg()[0] if hasattr(os, "getloadavg") else None


def load_note(load: float | None) -> str:
    """Get a warning if the machine was busy before the measuring began, else an empty text."""
    if load is None or load <= LOAD_LIMIT:
        return ""
    return (
        f"note: the load average was {load:.2f} before this began: other work shared the cores, so expect worse figures"
    )


def node_version() -> str | None:
    """Get the version of the ``node`` on the path, None if there is none."""
    node = shutil.which("node")
    if node is None:
        return None
    return subprocess.run([node, "--version"], capture_output=True, text=True, check=True).stdout.strip()


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return platform.processor()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "")
