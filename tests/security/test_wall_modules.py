"""Which module names resolve: the four public ones and the tool's own files, and nothing else (SECURITY M)."""

from __future__ import annotations

import json

import pytest
from tests.wall import LIMITS, Answers, Guest

from keelbox_sandbox.contract import Call, FailureCode, Limits, ScriptError
from keelbox_sandbox.wasm.engine import get_engine
from keelbox_sandbox.wasm.program import Module, compile_module

pytestmark = pytest.mark.anyio

OK = "export const exec = () => 'ran';"
BUILT_IN = ["std", "os", "fs", "node:fs", "system/fs", "system", "system/", "keelbox:host", "keelbox:boot.js", "bjson"]
OUTSIDE = ["../x.js", "../../etc/passwd", "./../x.js", "./a/../../x.js", "./lib/../../tool.js", "..", "../", "./.."]
ABSOLUTE = ["/etc/passwd", "/tool.js", "//host/x.js", "\\\\srv\\x.js", "C:\\x.js", "file:///etc/passwd", "./C:/x.js"]
REMOTE = ["http://a.test/x.js", "https://a.test/x.js", "data:text/javascript,export default 1", "blob:x", "./data:x.js"]
NEARLY = ["System/HTTP", "system/HTTP", "\u017fystem/http", "system/http ", " system/http", "./system/http", "system//http",
          "system/../system/http", "system/http.js", "system/http\u200b", "system/\u200dhttp", "system%2fhttp"]  # fmt: skip
LITERAL = ["./%2e%2e/x.js", "./lib%2fx.js", "./x.js?v=1", "./x.js#a", "./\u2025/x.js", "./..\\x.js", "./x", "./lib", "./",
           ".", "", "x.js", "#x", "./.js", "./lib//x.js", "./lib/./", "./x.jsx", "./x.wasm", "./x.json5"]  # fmt: skip
CONTROL = [
    "./x.js\0",
    "./x\0.js",
    "./x.js\0.js",
    "system/http\0",
    "system/http\0x",
    "./x.js\n",
    "./x\u2028.js",
    "./x\x85.js",
]
FORBIDDEN = [*BUILT_IN, *OUTSIDE, *ABSOLUTE, *REMOTE, *NEARLY, *LITERAL, *CONTROL]
FILES = {
    "x.js": "export const x = 1;",
    "lib/x.js": "export const x = 2;",
    "lib/tool.js": "",
    "%2e%2e/y.js": "export const x = 3;",
}


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.mark.parametrize("name", FORBIDDEN)
async def test_static_import_is_refused(guest: Guest, name: str) -> None:
    result = await guest.run(guest.script(f"import * as x from {json.dumps(name)}; {OK}", FILES))
    assert result.code == FailureCode.LOAD_FAILED


async def test_dynamic_imports_are_refused(guest: Guest) -> None:
    """M10: computed names follow the same rule."""
    body = """
      const found = [];
      for (const name of input) await import(name).then(() => found.push(name), (error) => error.message);
      return found;
    """
    script = guest.script(
        f"import './x.js'; import './lib/x.js'; import './lib/tool.js'; {guest.exec_source(body)}", FILES
    )
    result = await guest.run(script, call=Call(input=FORBIDDEN))
    assert (result.code, result.value) == (None, [])


@pytest.mark.parametrize("name", FORBIDDEN)
async def test_gather_asks_for_nothing_outside(guest: Guest, name: str) -> None:
    """Whatever a script imports, no name that leaves the folder comes to the reader of files."""
    asked: list[str] = []

    def read(module: str) -> str | None:
        asked.append(module)
        return f"import {json.dumps(name)}; {OK}" if module == "tool.js" else None

    with pytest.raises(ScriptError):
        await guest.sandbox.gather("tool.js", read, LIMITS)
    assert all(_is_confined(module) for module in asked)


def _is_confined(module: str) -> bool:
    parts = module.split("/")
    return not {"", ".", ".."} & set(parts) and not any(letter in module for letter in "\\:\0")


@pytest.mark.parametrize("name", ["./x.js", "./lib/../x.js", "./lib/./x.js", "././x.js"])
async def test_relative_import_is_taken(guest: Guest, name: str) -> None:
    source = f"import {{ x }} from {json.dumps(name)}; export const exec = () => x;"
    assert (await guest.run(guest.script(source, FILES))).value == (2 if name == "./lib/./x.js" else 1)


async def test_percent_signs_are_not_decoded(guest: Guest) -> None:
    """M8: such a file cannot be imported at all, so that nobody can take it for another."""
    result = await guest.run(guest.script(f"import './%2e%2e/y.js'; {OK}", FILES))
    assert result.code == FailureCode.LOAD_FAILED


async def test_modules_of_a_folder_import_each_other(guest: Guest) -> None:
    modules = {
        "lib/a.js": "export { b } from './deep/b.js';",
        "lib/deep/b.js": "export { x as b } from '../../x.js';",
        **FILES,
    }
    result = await guest.run(guest.script("import { b } from './lib/a.js'; export const exec = () => b;", modules))
    assert result.value == 1


async def test_file_named_like_a_system_module_does_not_replace_it(guest: Guest) -> None:
    """M7, M15: by whatever way it is named, system/http is the platform's."""
    modules = {"system/http.js": "export default { get: () => 'forged' };", "system/http": "export default 'forged';"}
    source = "import Http from 'system/http'; import own from './system/http.js'; export const exec = () => [typeof Http.getJson, own.get()];"
    assert (await guest.run(guest.script(source, modules))).value == ["function", "forged"]


async def test_same_name_in_two_scripts_is_two_modules(guest: Guest) -> None:
    """M15."""
    source = "import { x } from './lib.js'; export const exec = () => x;"
    for value in (1, 2, 1):
        assert (await guest.run(guest.script(source, {"lib.js": f"export const x = {value};"}))).value == value


async def test_module_of_another_script_is_out_of_reach(guest: Guest) -> None:
    await guest.run(
        guest.script("import { x } from './lib.js'; export const exec = () => x;", {"lib.js": "export const x = 1;"})
    )
    result = await guest.run(
        "export const exec = () => import('./lib.js').then(() => 'found', (error) => error.message);"
    )
    assert "not part of this tool" in result.value


async def test_file_that_is_only_imported_dynamically_is_not_there(guest: Guest) -> None:
    files = {
        "tool.js": "export const exec = () => import('./x.js').then(() => 'found', (error) => error.message);",
        **FILES,
    }
    script = await guest.sandbox.gather("tool.js", files.get, LIMITS)
    assert set(script.modules) == {"tool.js"}
    assert "not part of this tool" in (await guest.run(script)).value


async def test_imports_without_end_are_cut(guest: Guest) -> None:
    body = "for (let i = 0; ; i++) await import(`./x${i}.js`).catch(() => {});"
    result = await guest.exec(body, limits=Limits(cpu_s=0.2))
    assert result.code in (FailureCode.CPU_EXCEEDED, FailureCode.MEMORY_EXCEEDED)


@pytest.mark.parametrize("attributes", ["{ type: 'text' }", "{ type: 'wasm' }", "{ type: 'css' }", "{ other: 'json' }"])
async def test_other_attributes_are_refused(guest: Guest, attributes: str) -> None:
    """M11."""
    files = {"data.json": "1", "x.txt": "text"}
    for name in ("./data.json", "./x.txt"):
        result = await guest.run(guest.script(f"import x from '{name}' with {attributes}; {OK}", files))
        assert result.code == FailureCode.LOAD_FAILED
    body = f"return import('./data.json', {{ with: {attributes} }}).then(() => 'found', (error) => error.name);"
    result = await guest.run(guest.script(f"import './data.json'; {guest.exec_source(body)}", files))
    assert result.value == "TypeError"


async def test_code_in_a_json_module_is_not_run(guest: Guest) -> None:
    result = await guest.run(guest.script(f"import x from './data.json'; {OK}", {"data.json": "(globalThis.evil = 1)"}))
    assert result.code == FailureCode.LOAD_FAILED


@pytest.mark.parametrize(
    "text", ['"\\u0022);globalThis.evil=1;(\\u0022"', '"\u2028\u2029`${1}"', '"</script>"', '"\\\\"']
)
async def test_text_in_a_json_module_stays_text(guest: Guest, text: str) -> None:
    source = "import x from './data.json'; export const exec = () => [x, 'evil' in globalThis];"
    result = await guest.run(guest.script(source, {"data.json": text}))
    assert result.value == [json.loads(text), False]


@pytest.mark.parametrize(
    "data", ["\x05\x00\x01", "\x1b\x01bytecode", "\0asm\x01\0\0\0", "\ud800", "export const exec = 1\0;"]
)
async def test_bytecode_as_source_is_a_syntax_error(guest: Guest, data: str) -> None:
    """M16: nothing but source text is ever read from a file."""
    result = await guest.run(data)
    assert result.code == FailureCode.LOAD_FAILED


async def test_compiled_module_as_source_is_a_syntax_error(guest: Guest) -> None:
    compiled, _ = compile_module(get_engine(), "tool.js", OK, LIMITS, 5, float("inf"), lambda isolate: None)
    assert isinstance(compiled, Module)
    assert (await guest.run(compiled.bytecode.decode("latin-1"))).code == FailureCode.LOAD_FAILED


async def test_nothing_is_asked_while_importing(guest: Guest) -> None:
    """M4: an import never becomes a request."""
    answers = Answers()
    body = "for (const name of ['http://a.test/x.js', 'https://a.test/x.js']) await import(name).catch(() => {}); return 1;"
    assert await guest.value(body, perform=answers) == 1
    assert answers.ops == []
