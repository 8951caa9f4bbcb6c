"""Compiled code on disk: the user's own folder, verified before it is trusted, made again when it is damaged.

Loading native code is running it. So a file is taken only from a folder that belongs to this user and that nobody else
can write to, only under a name that says what it was made of (the guest's hash, wasmtime's version, the processor's
features), and only if its content has the hash that stands at its start. Anything else is not an error: the code is
compiled anew.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import platform
import stat
import tempfile
from pathlib import Path

__all__ = ["cache_folder", "find_cache_folder", "load", "name_for", "store"]

_MAGIC = b"keelbox-code-1\n"
_DIGEST_BYTES = 32
KEPT_COUNT = 4
"""Files that stay: a few, for environments side by side with other versions. One is about 4 MB."""


def cache_folder() -> Path:
    """Where compiled code is kept: ``KEELBOX_CACHE``, else ``keelbox`` in the user's cache folder."""
    given = os.environ.get("KEELBOX_CACHE")
    if given:
        folder = Path(given)
    else:
        import platformdirs

        folder = platformdirs.user_cache_path("keelbox", appauthor=False)
    return folder


def find_cache_folder() -> Path | None:
    """The folder, made with mode 0700 if it was not there; None where that cannot be (a read-only home, say)."""
    folder = cache_folder()
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError:
        return None
    return folder


def name_for(wasm: bytes, version: str) -> str:
    """The file name for a module's code on this machine."""
    features = platform.machine() + platform.system()
    try:
        with Path("/proc/cpuinfo").open(encoding="utf-8", errors="replace") as file:
            features += next((line for line in file if line.startswith(("flags", "Features"))), "")
    except OSError:
        features += platform.processor()  # no /proc: the engine itself checks the features when it loads the code
    digest = hashlib.sha256(wasm + version.encode() + features.encode()).hexdigest()
    return f"guest-{digest[:32]}.code"


def load(folder: Path, name: str) -> bytes | None:
    """The code, None unless it is there, ours alone to write, and undamaged."""
    path = folder / name
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    with os.fdopen(descriptor, "rb") as file:
        status = os.fstat(file.fileno())
        if not (_is_private(folder.stat()) and _is_private(status) and stat.S_ISREG(status.st_mode)):
            return None
        data = file.read()
    head = len(_MAGIC) + _DIGEST_BYTES
    code = data[head:]
    if data[: len(_MAGIC)] != _MAGIC or hashlib.sha256(code).digest() != data[len(_MAGIC) : head]:
        return None
    return code


def store(folder: Path, name: str, code: bytes) -> bool:
    """Keep the code; False if the folder does not allow it (the next process then compiles again)."""
    temporary: Path | None = None
    try:
        with tempfile.NamedTemporaryFile(dir=folder, delete=False) as file:
            temporary = Path(file.name)
            file.write(_MAGIC + hashlib.sha256(code).digest() + code)
        temporary.replace(folder / name)
        _prune(folder)
    except OSError:
        if temporary is not None:
            with contextlib.suppress(OSError):
                temporary.unlink(missing_ok=True)
        return False
    return True


def _prune(folder: Path) -> None:
    """Remove what older versions left; a file that another process still reads stays readable to it."""
    files = sorted(folder.glob("guest-*.code"), key=lambda path: path.stat().st_mtime, reverse=True)
    for path in files[KEPT_COUNT:]:
        path.unlink(missing_ok=True)


def _is_private(status: os.stat_result) -> bool:
    return status.st_uid == os.geteuid() and not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
