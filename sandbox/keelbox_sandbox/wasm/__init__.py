"""The WebAssembly runtime: JavaScript tools in quickjs-ng, one fresh instance a run."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .sandbox import WasmSandbox

__all__ = ["WasmSandbox"]


def __getattr__(name: str) -> object:
    # Late, because the build hook imports this package where wasmtime may not be installed yet.
    if name == "WasmSandbox":
        from .sandbox import WasmSandbox

        return WasmSandbox
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
