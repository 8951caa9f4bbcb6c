"""wasmtime's C functions that a run needs, called directly.

The library's Python objects look exports up by name, build a function type for each call and convert each value;
measured, that was more than half of a fresh run's time. Here a call is one foreign call with plain integers. Every
function is a fresh ctypes object (``dll[name]``), so that the library's own declarations stay as they are. Addresses
are integers; 0 is NULL.
"""

from __future__ import annotations

import ctypes
from ctypes import Structure, byref, c_bool, c_int64, c_size_t, c_uint8, c_uint64, c_void_p
from typing import Any

from wasmtime import _bindings  # the one place that loads the library

__all__ = [
    "Extern", "Instance", "Value", "call_async", "config_async_stack_size", "context_set_epoch_deadline", "epoch_yield",
    "future_delete", "future_poll", "increment_epoch", "instance_export", "instantiate", "memory_data", "memory_grow",
    "memory_size", "new_pointer", "store_context", "store_delete", "store_limiter", "store_new", "take_error",
    "take_trap",
]  # fmt: skip

_dll: Any = _bindings.__dict__["dll"]


class Instance(Structure):
    """A wasmtime_instance_t."""

    _fields_ = (("store_id", c_uint64), ("index", c_size_t))


class Extern(Structure):
    """A wasmtime_extern_t: the kind, then the union of which a run needs the function and the memory."""

    _fields_ = (("kind", c_uint8), ("store_id", c_uint64), ("private1", c_uint64), ("private2", c_uint64))

    @property
    def of(self) -> int:
        """Address of the union: what functions that take a wasmtime_func_t or wasmtime_memory_t want."""
        return ctypes.addressof(self) + Extern.store_id.offset


class Value(Structure):
    """A wasmtime_val_t that holds an i32 (kind 0). The union has 24 bytes."""

    _fields_ = (("kind", c_uint8), ("i32", c_uint64), ("rest", c_uint64 * 2))


def _function(name: str, result: Any, *arguments: Any) -> Any:
    function = _dll[name]
    function.restype = result
    function.argtypes = list(arguments)
    return function


config_async_stack_size = _function("wasmtime_config_async_stack_size_set", None, c_void_p, c_uint64)
store_new = _function("wasmtime_store_new", c_void_p, c_void_p, c_void_p, c_void_p)
store_context = _function("wasmtime_store_context", c_void_p, c_void_p)
store_limiter = _function("wasmtime_store_limiter", None, c_void_p, c_int64, c_int64, c_int64, c_int64, c_int64)
store_delete = _function("wasmtime_store_delete", None, c_void_p)
context_set_epoch_deadline = _function("wasmtime_context_set_epoch_deadline", None, c_void_p, c_uint64)
epoch_yield = _function("wasmtime_context_epoch_deadline_async_yield_and_update", None, c_void_p, c_uint64)
increment_epoch = _function("wasmtime_engine_increment_epoch", None, c_void_p)
instantiate = _function("wasmtime_instance_pre_instantiate", c_void_p, c_void_p, c_void_p, c_void_p, c_void_p)
instance_export = _function(
    "wasmtime_instance_export_nth", c_bool, c_void_p, c_void_p, c_size_t, c_void_p, c_void_p, c_void_p
)
call_async = _function(
    "wasmtime_func_call_async", c_void_p, c_void_p, c_void_p, c_void_p, c_size_t, c_void_p, c_size_t, c_void_p, c_void_p
)
future_poll = _function("wasmtime_call_future_poll", c_bool, c_void_p)
future_delete = _function("wasmtime_call_future_delete", None, c_void_p)
memory_data = _function("wasmtime_memory_data", c_void_p, c_void_p, c_void_p)
memory_size = _function("wasmtime_memory_data_size", c_size_t, c_void_p, c_void_p)
memory_grow = _function("wasmtime_memory_grow", c_void_p, c_void_p, c_void_p, c_uint64, c_void_p)
_error_message = _function("wasmtime_error_message", None, c_void_p, c_void_p)
_error_delete = _function("wasmtime_error_delete", None, c_void_p)
_trap_message = _function("wasm_trap_message", None, c_void_p, c_void_p)
_trap_delete = _function("wasm_trap_delete", None, c_void_p)
_bytes_delete = _function("wasm_byte_vec_delete", None, c_void_p)


class _Bytes(Structure):
    _fields_ = (("count", c_size_t), ("data", c_void_p))


def new_pointer() -> Any:
    """Room for one address that a C function fills."""
    return c_void_p()


def _text(read: Any, delete: Any, address: int) -> str:
    vector = _Bytes()
    read(address, byref(vector))
    text = ctypes.string_at(vector.data, vector.count).rstrip(b"\0").decode("utf-8", "replace")
    _bytes_delete(byref(vector))
    delete(address)
    return text


def take_error(address: int) -> str:
    """The text of a wasmtime_error_t; frees it."""
    return _text(_error_message, _error_delete, address)


def take_trap(address: int) -> str:
    """The text of a wasm_trap_t; frees it."""
    return _text(_trap_message, _trap_delete, address)
