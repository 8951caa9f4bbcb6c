"""Whole processes: the first run of a fresh one, and ``keelbox run``, with a cold and a warm code cache."""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.util import find_spec
from pathlib import Path

from . import children
from .figures import Column, Row, Section, Target
from .work import BODY, RESULT

__all__ = ["processes"]

COLUMNS = (
    Column(key="best_s", head="best s", digits=3),
    Column(key="median_s", head="median s", digits=3),
    Column(key="runs_count", head="runs"),
    Column(key="import_s", head="import s", digits=3),
    Column(key="engine_s", head="engine s", digits=3),
    Column(key="run_s", head="run s", digits=3),
)
WARM = Target(figure="median_s", bound=0.35, text="≤ 0.35 s")
COLD = Target(figure="median_s", bound=1.5, text="≤ 1.5 s")

NO_OP = "export const exec = async () => ({ ok: true, n: 10 });\n"
ONE_OP = """import Http from 'system/http';
export const exec = async (url) => {
    const reply = await Http.getJson(url);
    return { ok: reply.ok, n: reply.body.results.length };
};
"""


class _Service(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        body = BODY.encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        pass


@contextmanager
def _service() -> Generator[str]:
    """A service on loopback that answers any GET; its URL."""
    with ThreadingHTTPServer(("127.0.0.1", 0), _Service) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}/places"
        finally:
            server.shutdown()
            thread.join()


def processes(cold_count: int, warm_count: int) -> Section:
    """Measure so many starts of each kind."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        rows = [
            _first_run("first run in a fresh process, cold cache", folder, cold_count, is_cold=True),
            _first_run("first run in a fresh process, warm cache", folder, warm_count, is_cold=False),
            *_keelbox_run(folder, cold_count, warm_count),
        ]
    return Section(
        key="processes", title="Whole processes, from exec to exit (keelbox run: --json)", columns=COLUMNS, rows=rows,
        note="import, engine, run: medians of the stages inside; a cold cache compiles the guest's code anew",
    )  # fmt: skip


def _first_run(name: str, folder: Path, count: int, *, is_cold: bool) -> Row:
    stages: list[dict[str, float]] = []

    def start(cache: Path) -> None:
        document = children.once("first_run", env=children.environment(KEELBOX_CACHE=str(cache)))
        if (document["code_from"] == "compiled") is not is_cold:
            raise RuntimeError(f"the code came from {document['code_from']}, which this row is not about")
        stages.append(document["figures"])

    figures = _times(start, folder, count, is_cold=is_cold)
    return Row(
        name=name,
        figures={**figures, **{key: statistics.median(stage[key] for stage in stages) for key in stages[0]}},
    )


def _keelbox_run(folder: Path, cold_count: int, warm_count: int) -> Iterator[Row]:
    if find_spec("keelbox") is None or find_spec("keelbox.cli") is None:
        yield Row(name="keelbox run", note="not installed")
        return
    scripts = {"no-op.js": NO_OP, "one-op.js": ONE_OP}
    for name, text in scripts.items():
        (folder / name).write_text(text, encoding="utf-8")

    with _service() as url:

        def command(*arguments: str) -> Callable[[Path], None]:
            def start(cache: Path) -> None:
                done = subprocess.run(
                    [sys.executable, "-m", "keelbox", "run", *arguments, "--json"],
                    cwd=folder, env=children.environment(KEELBOX_CACHE=str(cache)), stdout=subprocess.PIPE, check=True,
                )  # fmt: skip
                if json.loads(done.stdout)["result"] != RESULT:
                    raise RuntimeError("keelbox run gave something else")

            return start

        no_op, one_op = command("no-op.js"), command("one-op.js", "--context", url, "--allow-loopback")
        for name, start, is_cold in (
            ("keelbox run, no op, cold cache", no_op, True),
            ("keelbox run, no op, warm cache", no_op, False),
            ("keelbox run, one op over HTTP, cold cache", one_op, True),
            ("keelbox run, one op over HTTP, warm cache", one_op, False),
        ):
            figures = _times(start, folder, cold_count if is_cold else warm_count, is_cold=is_cold)
            yield Row(name=name, figures=figures, targets=[COLD if is_cold else WARM])


def _times(start: Callable[[Path], None], folder: Path, count: int, *, is_cold: bool) -> dict[str, float | None]:
    """Start with a new cache folder each time, or with one that has been filled by a start that does not count."""
    warm = folder / "warm"
    times_s: list[float] = []
    for i in range(count):
        cache = Path(tempfile.mkdtemp(dir=folder)) if is_cold else warm
        if i == 0 and not is_cold and not warm.exists():
            _fill(warm)
        began_s = time.perf_counter()
        start(cache)
        times_s.append(time.perf_counter() - began_s)
    return {"best_s": min(times_s), "median_s": statistics.median(times_s), "runs_count": len(times_s)}


def _fill(cache: Path) -> None:
    children.once("first_run", env=children.environment(KEELBOX_CACHE=str(cache)))
