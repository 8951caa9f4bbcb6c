"""Builds ``guest/build/guest.wasm``: hatchling's hook, and a script for a checkout.

1. quickjs-ng's C sources come from its pinned, hash-checked source distribution. ``KEELBOX_QUICKJS_SDIST`` may name a
   local copy of that file, for builds without a registry.
2. ziglang compiles them with our glue to wasm32-wasi (about 20 s).
3. The snapshot is taken (about 1 s).

The result of 2 is kept in the user's cache under the hash of everything that went into it, so that a second build is
instant; the result itself carries the hash of sources, flags and stdlib as a custom section, and is made again when
that differs.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[2]
OUTPUT = HERE / "guest" / "build" / "guest.wasm"

SDIST = "quickjs_ng-0.17.0.2.tar.gz"
SDIST_REQUIREMENT = "quickjs-ng==0.17.0.2"
SDIST_SHA256 = "43d2e48272208721a7aaea8e3f02d4b9318f12ef20cc4f5421b59d9a470706ef"
ZIGLANG_VERSION = "0.17.1"
"""As pyproject.toml pins it among the build requirements."""

ENGINE_FILES = ("quickjs.c", "libregexp.c", "libunicode.c", "dtoa.c")
FLAGS = (
    "-target", "wasm32-wasi", "-mexec-model=reactor", "-O2", "-DNDEBUG", "-D_WASI_EMULATED_SIGNAL",
    "-Wl,-z,stack-size=2097152", "-Wl,--strip-all",
)  # fmt: skip
_POLL = "if (unlikely(js_poll_interrupts(ctx)))\n{indent}    goto exception;\n"

_NUL_CHECK = """    if ({name} && strlen({name}) != length) {{
        JS_ThrowReferenceError(ctx, "cannot import a name that holds a NUL character");
        JS_FreeCString(ctx, {name});
        {name} = NULL;
    }}
"""


def _poll_first(jump: str, indent: str) -> tuple[str, str, str]:
    poll = indent + _POLL.format(indent=indent)
    return "quickjs.c", f"{indent}{jump}\n{poll}", f"{poll}{indent}{jump}\n"


# What is changed in the engine's sources: (file, text that stands there exactly once, its replacement).
PATCHES = (
    # It polls for interruption after a jump back; polled before it, the line that the author is shown is inside the
    # loop.
    *(
        _poll_first(f"pc += {offset};", " " * 12)
        for offset in ("(int32_t)get_u32(pc)", "(int16_t)get_u16(pc)", "(int8_t)pc[0]")
    ),
    *(
        _poll_first(f"if ({test}) {{\n{' ' * 20}pc += {offset};\n{' ' * 16}}}", " " * 16)
        for test in ("res", "!res")
        for offset in ("(int32_t)get_u32(pc - 4) - 4", "(int8_t)pc[-1] - 1")
    ),
    # It gives each of 31 block sizes an arena of one page, so that a small run touches (and so copies) a page for
    # almost each object. Arenas start small here and double; and after the snapshot, holes in the snapshot's arenas are
    # not filled: new objects lie side by side.
    (
        "quickjs.c",
        "static no_inline JSArena *arena_new(JSRuntime *rt, int block_size_idx)\n{",
        """static uint8_t arena_doublings[JS_ARENA_BLOCK_SIZE_COUNT];

static int arena_next_bytes(int block_size_idx)
{
    int bytes = JS_ARENA_FIRST_SIZE << arena_doublings[block_size_idx];
    if (bytes < JS_ARENA_SIZE)
        arena_doublings[block_size_idx]++;
    return bytes;
}

void keelbox_seal_arenas(JSRuntime *rt)
{
    struct list_head *el;
    for (int i = 0; i < JS_ARENA_BLOCK_SIZE_COUNT; i++) {
        list_for_each(el, &rt->arena_state.free_arena_list[i]) {
            JSArena *ar = list_entry(el, JSArena, free_link);
            ar->n_used_blocks = ar->n_blocks;
            ar->first_free_block = JS_ARENA_FREE_NIL;
        }
        init_list_head(&rt->arena_state.free_arena_list[i]);
        arena_doublings[i] = 0;
        struct list_head *head = &rt->arena_state.arena_list[i];
        if (!list_empty(head)) { /* a ring of their own, or each new arena would write into the newest of them */
            head->next->prev = head->prev;
            head->prev->next = head->next;
            init_list_head(head);
        }
    }
}

static no_inline JSArena *arena_new(JSRuntime *rt, int block_size_idx)
{""",
    ),
    (
        "quickjs.c",
        "    n_blocks = (JS_ARENA_SIZE - sizeof(JSArena)) / block_size;\n",
        "    n_blocks = (arena_next_bytes(block_size_idx) - sizeof(JSArena)) / block_size;\n"
        "    if (n_blocks < 2)\n        n_blocks = 2;\n",
    ),
    # It resolves a module's imports while it reads the module's bytecode, so that a module could only be read after all
    # that it imports, and a circle never. Resolved when all are read (modules.c).
    (
        "quickjs.c",
        """            *pm = js_host_resolve_imported_module_atom(s->ctx, m->module_name,
                                                       rme->module_name,
                                                       rme->attributes);
            if (!*pm)
                goto fail;
""",
        "            *pm = NULL;\n",
    ),
    # It takes a module name up to its first NUL (SECURITY M6).
    (
        "quickjs.c",
        "    cname = JS_AtomToCString(ctx, module_name1);\n    if (!cname) {",
        "    size_t length;\n    cname = JS_AtomToCStringLen(ctx, &length, module_name1);\n"
        + _NUL_CHECK.format(name="cname")
        + "    if (!cname) {",
    ),
    (
        "quickjs.c",
        "    filename = JS_ToCString(ctx, specifier);\n    if (!filename)\n        goto exception;\n\n    JS_Load",
        "    size_t length;\n    filename = JS_ToCStringLen(ctx, &length, specifier);\n"
        + _NUL_CHECK.format(name="filename")
        + "    if (!filename)\n        goto exception;\n\n    JS_Load",
    ),
    # It means to add the line of a wrong regular expression, and then does not, because the error has an empty stack.
    (
        "quickjs.c",
        "                /* add the line number info */\n",
        "                if (JS_IsError(s->ctx->rt->current_exception)) {\n"
        "                    JSObject *error = JS_VALUE_GET_OBJ(s->ctx->rt->current_exception);\n"
        "                    JS_FreeValue(s->ctx, error->u.object_data);\n"
        "                    error->u.object_data = JS_UNDEFINED;\n"
        "                }\n",
    ),
    (
        "quickjs.c",
        "#define JS_ARENA_SIZE              4096\n",
        "#define JS_ARENA_SIZE              4096\n#define JS_ARENA_FIRST_SIZE        256\n",
    ),
)
KEY_SECTION = "keelbox.key"


class BuildError(Exception):
    """The guest cannot be built; the message says what to do."""


def cache_folder() -> Path:
    """Where compiled engines are kept: ``KEELBOX_CACHE``, else the user's cache folder."""
    base = os.environ.get("KEELBOX_CACHE") or os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    folder = Path(base).expanduser() / "keelbox-build"
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    return folder


def stdlib(root: Path = ROOT) -> dict[str, str]:
    """The guest's JavaScript by internal module name."""
    base = root / "stdlib" / "js"
    modules: dict[str, str] = {}
    for path in sorted(base.rglob("*.js")):
        name = path.relative_to(base).as_posix()
        public = name.startswith("system/")
        modules[name.removesuffix(".js") if public else f"keelbox:{name}"] = path.read_text("utf-8")
    return modules


def glue() -> dict[str, bytes]:
    """Our own C by file name."""
    return {path.name: path.read_bytes() for path in sorted((HERE / "guest").glob("*.[ch]"))}


def _hash(*parts: bytes | str) -> str:
    digest = hashlib.sha256()
    for part in parts:
        data = part.encode() if isinstance(part, str) else part
        digest.update(len(data).to_bytes(8, "little"))
        digest.update(data)
    return digest.hexdigest()


def engine_key() -> str:
    """Hash of everything that the compiled engine depends on."""
    files = [part for name, data in glue().items() for part in (name, data)]
    return _hash(
        SDIST_SHA256,
        f"ziglang {ZIGLANG_VERSION}",
        *ENGINE_FILES,
        *FLAGS,
        *(part for patch in PATCHES for part in patch),
        *files,
    )


def guest_key() -> str:
    """Hash of everything that ``guest.wasm`` depends on; the file has it in its custom section."""
    modules = [part for name, text in stdlib().items() for part in (name, text)]
    return _hash(engine_key(), (HERE / "snapshot.py").read_bytes(), *modules)


def sdist() -> bytes:
    """The engine's source distribution, checked.

    Raises:
        BuildError: it cannot be had, or it is another file.
    """
    given = os.environ.get("KEELBOX_QUICKJS_SDIST")
    path = Path(given) if given else cache_folder() / SDIST
    if not path.exists() and not given:
        _download(path)
    try:
        data = path.read_bytes()
    except OSError as error:
        raise BuildError(f"KEELBOX_QUICKJS_SDIST names {path}, which cannot be read: {error.strerror}") from error
    if hashlib.sha256(data).hexdigest() != SDIST_SHA256:
        raise BuildError(f"{path} is not {SDIST} (sha256 must be {SDIST_SHA256}); remove it and build again")
    return data


def _download(path: Path) -> None:
    with tempfile.TemporaryDirectory() as folder:
        requirement = Path(folder) / "requirement.txt"
        requirement.write_text(f"{SDIST_REQUIREMENT} --hash=sha256:{SDIST_SHA256}\n", "utf-8")
        command = [
            sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps",
            "--no-binary", ":all:", "--no-build-isolation", "--require-hashes", "--dest", folder, "--requirement",
            str(requirement),
        ]  # fmt: skip
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        found = Path(folder) / SDIST
        if not found.exists():
            raise BuildError(
                f"pip could not fetch {SDIST_REQUIREMENT}:\n{done.stderr.strip()}\n\n"
                f"hint: without a registry, set KEELBOX_QUICKJS_SDIST to a local copy of {SDIST}"
            )
        _replace(path, found.read_bytes())


def _replace(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=path.parent, delete=False) as file:
        file.write(data)
    Path(file.name).chmod(0o644)
    os.replace(file.name, path)  # noqa: PTH105 - Path.replace is the same call


def engine() -> bytes:
    """The compiled engine, before the snapshot."""
    cached = cache_folder() / f"engine-{engine_key()}.wasm"
    if cached.exists():
        return cached.read_bytes()
    archive = sdist()
    with tempfile.TemporaryDirectory() as folder:
        base = Path(folder)
        archive_path = base / SDIST
        archive_path.write_bytes(archive)
        with tarfile.open(archive_path) as tar:
            for member in tar:
                _, _, inside = member.name.partition("/upstream-quickjs/")
                if member.isfile() and inside and "/" not in inside:
                    source = tar.extractfile(member)
                    if source is not None:
                        (base / inside).write_bytes(source.read())
        for name, old, new in PATCHES:
            text = (base / name).read_text("utf-8")
            if text.count(old) != 1:
                raise BuildError(
                    f"{name} is not as the patch expects it: {old.strip()!r} stands there {text.count(old)} times"
                )
            (base / name).write_text(text.replace(old, new), "utf-8")
        for name, data in glue().items():
            (base / f"keelbox_{name}" if name.endswith(".c") else base / name).write_bytes(data)
        sources = [*sorted(f"keelbox_{name}" for name in glue() if name.endswith(".c")), *ENGINE_FILES]
        # Relative names, and caches in the temporary folder: the result must not depend on where it was built.
        environment = os.environ | {
            "ZIG_GLOBAL_CACHE_DIR": str(base / "zig-global"),
            "ZIG_LOCAL_CACHE_DIR": str(base / "zig-local"),
        }
        command = [sys.executable, "-m", "ziglang", "cc", *FLAGS, "-I.", *sources, "-o", "engine.wasm"]
        done = subprocess.run(command, cwd=base, env=environment, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise BuildError(f"the guest does not compile:\n{done.stderr}")
        data = (base / "engine.wasm").read_bytes()
    _replace(cached, data)
    return data


def build() -> bool:
    """Make ``guest.wasm`` if it is missing or stale; True if it was made.

    Raises:
        BuildError: see the message.
    """
    if str(ROOT / "sandbox") not in sys.path:
        sys.path.insert(0, str(ROOT / "sandbox"))
    from keelbox_sandbox.wasm import snapshot

    key = guest_key()
    if OUTPUT.exists() and snapshot.section(OUTPUT.read_bytes(), KEY_SECTION) == key.encode():
        return False
    data = snapshot.take(engine(), stdlib())
    _replace(OUTPUT, snapshot.with_section(data, KEY_SECTION, key.encode()))
    return True


try:
    from hatchling.builders.hooks.plugin.interface import BuildHookInterface
except ImportError:  # run as a script, without hatchling
    pass
else:

    class GuestBuildHook(BuildHookInterface[Any]):
        """Makes the guest before a wheel is packed; also for editable installs, which use the file in the checkout."""

        PLUGIN_NAME = "custom"

        def initialize(self, version: str, build_data: dict[str, Any]) -> None:
            """Called by hatchling."""
            if self.target_name == "wheel":
                build()


if __name__ == "__main__":
    print("built" if build() else "up to date", OUTPUT)
