"""The WebAssembly runtime: JavaScript tools in quickjs-ng, one fresh instance a run."""
