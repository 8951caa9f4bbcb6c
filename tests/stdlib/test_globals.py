"""What a script finds in its global object: a closed, checked-in list (SECURITY R10).

After a wanted change, write the list anew: ``PYTHONPATH=sandbox python -m tests.stdlib.test_globals``.
"""

from __future__ import annotations

from pathlib import Path

import anyio
import pytest
from tests.wall import Guest

from keelbox_sandbox.wasm import WasmSandbox

pytestmark = pytest.mark.anyio

SNAPSHOT = Path(__file__).parent / "globals.txt"

LISTING = """
  const lines = [];
  const seen = new Set([globalThis]);
  const kind = (d) => (d.get || d.set ? `accessor ${d.get ? 'get' : ''}${d.set ? 'set' : ''}` : typeof d.value);
  const flags = (d) => `${d.writable ? 'w' : '-'}${d.enumerable ? 'e' : '-'}${d.configurable ? 'c' : '-'}`;
  const walk = (object, path) => {
    for (const key of Reflect.ownKeys(object)) {
      const d = Object.getOwnPropertyDescriptor(object, key);
      const name = typeof key === 'symbol' ? `${path}[${key.description}]` : path === '' ? key : `${path}.${key}`;
      if (/(^|\\.)(length|name|arguments|caller)$/.test(name) && path !== '') continue;
      lines.push(`${name} ${kind(d)} ${flags(d)}`);
      if ((typeof d.value === 'object' || typeof d.value === 'function') && d.value !== null && !seen.has(d.value)) {
        seen.add(d.value);
        walk(d.value, name);
      }
    }
  };
  walk(globalThis, '');
  return lines.sort();
"""

ABSENT = [
    "Atomics",
    "Buffer",
    "Bun",
    "Deno",
    "SharedArrayBuffer",
    "WebAssembly",
    "Worker",
    "XMLHttpRequest",
    "argv",
    "bjson",
    "clearTimeout",
    "console",
    "crypto",
    "document",
    "exports",
    "fetch",
    "gc",
    "global",
    "load",
    "loadScript",
    "localStorage",
    "module",
    "navigator",
    "os",
    "performance",
    "postMessage",
    "print",
    "process",
    "quit",
    "read",
    "require",
    "scriptArgs",
    "self",
    "setImmediate",
    "setInterval",
    "setTimeout",
    "std",
    "window",
]


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


async def test_globals_are_those_of_the_list(guest: Guest) -> None:
    found = await guest.value(LISTING)
    assert found == SNAPSHOT.read_text("utf-8").splitlines()


async def test_what_must_not_be_there_is_not(guest: Guest) -> None:
    value = await guest.value(
        f"return {ABSENT}.filter((name) => name in globalThis || typeof globalThis[name] !== 'undefined');"
    )
    assert value == []


async def test_list_is_the_same_while_modules_load(guest: Guest) -> None:
    source = f"const found = (() => {{ {LISTING} }})(); export const exec = () => found;"
    assert (await guest.run(source)).value == SNAPSHOT.read_text("utf-8").splitlines()


async def test_nothing_is_hidden_behind_the_global_object(guest: Guest) -> None:
    """B26: no names but a function's own, no stack walking, no host data in import.meta."""
    body = """
      const attempt = (read) => { try { return String(read()); } catch (error) { return error.name; } };
      return [
        Object.getPrototypeOf(globalThis) === Object.prototype, Reflect.ownKeys(import.meta).length,
        attempt(() => (function () { return arguments.callee; })()), attempt(() => exec.caller), attempt(() => exec.arguments),
        attempt(() => new Function('return arguments.callee.caller')()), (0, eval)('typeof this'), typeof new Function('return this')(),
      ];
    """
    value = await guest.value(body)
    assert value[:2] == [True, 0]
    assert value[2:6] == ["TypeError", "TypeError", "TypeError", "undefined"]
    assert value[6:] == ["object", "object"]


async def test_evaluated_code_has_no_more_reach(guest: Guest) -> None:
    body = """
      const names = ['keelbox:host', 'keelbox:boot.js', 'std', 'os', './host.js', '../keelbox:host', 'system/http.js'];
      const found = [];
      for (const name of names) {
        for (const load of [eval(`(n) => import(n)`), new Function('n', 'return import(n)')]) {
          await load(name).then(() => found.push(name), () => {});
        }
      }
      return found;
    """
    assert await guest.value(body) == []


async def test_evaluated_code_may_import_what_the_script_may(guest: Guest) -> None:
    assert await guest.value("return typeof (await eval(`import('system/tools')`)).default.generateUUID;") == "function"


async def test_reading_a_clock_finer_than_a_millisecond_is_impossible(guest: Guest) -> None:
    """R18."""
    body = """
      let last = Date.now();
      const steps = [];
      while (steps.length < 5) {
        const now = Date.now();
        if (now !== last) { steps.push(now - last); last = now; }
      }
      return [steps.every(Number.isInteger), Math.min(...steps), new Date().getTime() % 1, 'performance' in globalThis];
    """
    whole, smallest, fraction, performance = await guest.value(body)
    assert (whole, smallest >= 1, fraction, performance) == (True, True, 0, False)


async def _write() -> None:
    async with WasmSandbox() as sandbox:
        found = await Guest(sandbox=sandbox, language="js").value(LISTING)
    SNAPSHOT.write_text("".join(f"{line}\n" for line in found), "utf-8")


if __name__ == "__main__":
    anyio.run(_write)
