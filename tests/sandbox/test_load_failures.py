"""Scripts that cannot be loaded: what is said, and where."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from tests.wall import LIMITS, Answers, Guest

from keelbox_sandbox.contract import KIB, FailureCode, Limits, RunResult, Script, ScriptError

pytestmark = pytest.mark.anyio

OK = "export const exec = () => 'ran';"


async def load(guest: Guest, source: str, modules: Mapping[str, str] | None = None) -> RunResult:
    return await guest.run(guest.script(source, modules))


@pytest.mark.parametrize(
    ("source", "line", "column"),
    [
        ("export const exec = (;", 1, 22),
        ("const a = 1;\nconst a = 2;\nexport const exec = () => 1;", 2, None),
        ("\n\n  const broken = 'no end\n", 3, None),
        ("export const exec = () => { return 1;\n", 2, None),
        ("\nexport const exec = () => /(/;\n", 2, None),
        ("with (Math) {}\n", 1, None),
    ],
)
async def test_syntax_error_has_its_place(guest: Guest, source: str, line: int, column: int | None) -> None:
    result = await load(guest, source)
    assert result.code == FailureCode.LOAD_FAILED
    assert result.message is not None and result.message.startswith("SyntaxError: ")
    assert result.location is not None
    assert result.location[:2] == ("tool.js", line)
    assert column is None or result.location[2] == column


async def test_syntax_error_names_the_module_that_has_it(guest: Guest) -> None:
    result = await load(guest, f"import './lib/broken.js'; {OK}", {"lib/broken.js": "\nlet = ;"})
    assert result.code == FailureCode.LOAD_FAILED
    assert result.location is not None and result.location[:2] == ("lib/broken.js", 2)


async def test_missing_module_is_named_with_its_importer(guest: Guest) -> None:
    result = await load(guest, f"import './missing.js'; {OK}")
    assert (result.code, result.message) == (
        FailureCode.LOAD_FAILED,
        "tool.js imports missing.js, which does not exist",
    )


async def test_missing_export_is_named(guest: Guest) -> None:
    result = await load(guest, f"import {{ absent }} from './lib.js'; {OK}", {"lib.js": "export const present = 1;"})
    assert result.code == FailureCode.LOAD_FAILED
    assert result.message is not None and "absent" in result.message


async def test_package_import_is_answered_with_the_module_to_use(guest: Guest) -> None:
    result = await load(guest, f"import axios from 'axios'; {OK}")
    assert result.code == FailureCode.LOAD_FAILED
    assert result.message is not None and "'axios'" in result.message
    assert result.hint == "use system/http"


async def test_entry_must_be_a_module_of_the_script(guest: Guest) -> None:
    result = await guest.run(Script(entry="absent.js", modules={"tool.js": OK}))
    assert result.code == FailureCode.LOAD_FAILED


async def test_modules_need_not_be_given_in_order(guest: Guest) -> None:
    modules = {"a.js": "import { b } from './b.js'; export const a = b + 1;", "b.js": "export const b = 1;"}
    result = await load(guest, "import { a } from './a.js'; export const exec = () => a;", modules)
    assert result.value == 2


async def test_modules_may_import_in_a_circle(guest: Guest) -> None:
    lib = "import { one } from './tool.js'; export const two = () => one() + 1;"
    source = "import { two } from './lib.js'; export const one = () => 1; export const exec = () => two();"
    assert (await load(guest, source, {"lib.js": lib})).value == 2


async def test_json_module_with_and_without_attribute(guest: Guest) -> None:
    source = """
      import plain from './data.json';
      import attributed from './data.json' with { type: 'json' };
      export const exec = () => [plain === attributed, plain];
    """
    result = await load(guest, source, {"data.json": '{"a": [1, "☃\\u2028"], "__proto__": 1}'})
    assert (result.code, result.value) == (None, [True, {"a": [1, "☃\u2028"], "__proto__": 1}])


@pytest.mark.parametrize("text", ["{", "[NaN]", '{"a":1,"a":2}', "1e999", "'single'", "", "[1] x", "9" * 20])
async def test_json_module_is_read_strictly(guest: Guest, text: str) -> None:
    result = await load(guest, f"import data from './data.json'; {OK}", {"data.json": text})
    assert result.code == FailureCode.LOAD_FAILED
    assert result.message is not None and result.message.startswith("data.json is not strict JSON")


async def test_source_of_exactly_the_limit_loads(guest: Guest) -> None:
    limits = Limits(source_kib=1)
    padded = OK + "//" + "é" * ((KIB - len(OK) - 2) // 2) + " " * ((KIB - len(OK)) % 2)
    assert len(padded.encode()) == KIB
    assert (await guest.run(padded, limits=limits)).value == "ran"
    beyond = await guest.run(padded + " ", limits=limits)
    assert beyond.code == FailureCode.LOAD_FAILED
    assert beyond.message is not None and "source_kib" in beyond.message


async def test_source_limit_counts_all_modules(guest: Guest) -> None:
    script = guest.script(f"import './lib.js'; {OK}", {"lib.js": "//" + "x" * 1000})
    assert (await guest.run(script, limits=Limits(source_kib=1))).code == FailureCode.LOAD_FAILED
    assert (await guest.run(script, limits=Limits(source_kib=2))).value == "ran"


async def test_as_many_modules_as_may_be_load(guest: Guest) -> None:
    modules = {f"m{i}.js": f"export const v = {i};" for i in range(4)}
    source = "".join(f"import './m{i}.js';" for i in range(4)) + OK
    script = guest.script(source, modules)
    assert (await guest.run(script, limits=Limits(modules_count=5))).value == "ran"
    beyond = await guest.run(script, limits=Limits(modules_count=4))
    assert beyond.code == FailureCode.LOAD_FAILED
    assert beyond.message is not None and "modules_count" in beyond.message


async def test_limits_hold_for_a_script_that_ran_under_others(guest: Guest) -> None:
    """What is cached for a script must not carry it past a limit."""
    script = guest.script(OK + "//" + "x" * 2000)
    assert (await guest.run(script)).value == "ran"
    assert (await guest.run(script, limits=Limits(source_kib=1))).code == FailureCode.LOAD_FAILED


async def test_module_that_throws_fails_before_exec(guest: Guest) -> None:
    """M13: what it staged before stays a request to write; the run is not clean."""
    source = """
      import Agent from 'system/agent';
      Agent.setRootAgentPrompt('main', { prompt: 'early', sessionID: 's', requestID: 'r' });
      throw new TypeError('at load');
      export const exec = () => 'never';
    """
    result = await load(guest, source)
    assert (result.code, result.message) == (FailureCode.THREW, "TypeError: at load")
    assert [write.content for write in result.writes] == ["early"]
    assert result.location == ("tool.js", 4, 17)


async def test_gather_follows_imports(guest: Guest) -> None:
    files = {
        "a/tool.js": "import '../b/lib.js'; import data from './data.json'; export const exec = () => data;",
        "b/lib.js": "import '../a/more.js'; import 'system/log';",
        "a/more.js": "",
        "a/data.json": "[1]",
        "unused.js": "(",
    }
    asked: list[str] = []

    def read(name: str) -> str | None:
        asked.append(name)
        return files.get(name)

    script = await guest.sandbox.gather("a/tool.js", read, LIMITS)
    assert sorted(script.modules) == sorted(asked) == ["a/data.json", "a/more.js", "a/tool.js", "b/lib.js"]
    assert (await guest.run(script)).value == [1]


@pytest.mark.parametrize(
    ("files", "part"),
    [
        ({}, "tool.js does not exist"),
        ({"tool.js": "import './x.js'"}, "tool.js imports x.js, which does not exist"),
        ({"tool.js": "import '../x.js'"}, "outside the tool's folder"),
        ({"tool.js": "(("}, "SyntaxError"),
    ],
)
async def test_gather_says_what_is_missing(guest: Guest, files: dict[str, str], part: str) -> None:
    with pytest.raises(ScriptError) as caught:
        await guest.sandbox.gather("tool.js", files.get, LIMITS)
    assert caught.value.code == FailureCode.LOAD_FAILED
    assert part in caught.value.message


async def test_gather_stops_at_the_limits(guest: Guest) -> None:
    with pytest.raises(ScriptError, match="modules_count"):
        await guest.sandbox.gather("0.js", lambda name: f"import './{int(name[:-3]) + 1}.js'", Limits(modules_count=9))
    with pytest.raises(ScriptError, match="source_kib"):
        await guest.sandbox.gather("tool.js", lambda name: "//" + "x" * 2000, Limits(source_kib=1))


async def test_inspect_tells_imports_and_exports(guest: Guest) -> None:
    source = (
        "import Http from 'system/http'; import { b } from './lib.js'; export const exec = () => b; export default 1;"
    )
    script = guest.script(source, {"lib.js": "export const b = 1; export function c() {} throw 'never run';"})
    found = await guest.sandbox.inspect(script, LIMITS)
    assert set(found) == {"tool.js", "lib.js"}
    assert set(found["tool.js"].exports) == {"exec", "default"}
    assert set(found["lib.js"].exports) == {"b", "c"}
    assert set(found["tool.js"].imports) == {"system/http", "lib.js"}


async def test_nothing_is_performed_while_inspecting(guest: Guest) -> None:
    source = "import Http from 'system/http'; await Http.get('http://a.test/'); export const exec = () => 1;"
    await guest.sandbox.inspect(guest.script(source), LIMITS)
    answers = Answers()
    assert (await guest.run(source, perform=answers)).value == 1
    assert len(answers.ops) == 1


async def test_module_name_with_a_colon_is_refused(guest: Guest) -> None:
    """The stdlib's own modules have such names; a file of the tool must not stand beside them."""
    source = "import { abortSignal } from './abort.js'; export const exec = () => typeof abortSignal;"
    script = Script(entry="keelbox:web/t.js", modules={"keelbox:web/t.js": source})
    result = await guest.run(script)
    assert result.code == "load-failed"
    assert "colon" in (result.message or "")
