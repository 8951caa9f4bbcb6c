"""A loopback server in a process of its own that takes its time, and counts what is open at once.

    with slow_server(answer_after_s=0.2) as url:
        ...  # GET {url}/run/NAME
        report(url)

It has a process of its own so that it does not take the interpreter from the runs that are measured.
"""

from __future__ import annotations

import json
import subprocess
import sys
import urllib.request
from collections import Counter
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio
from anyio.abc import SocketAttribute, SocketStream

__all__ = ["Report", "report", "slow_server"]

_TOP = Path(__file__).parents[2]


@dataclass(slots=True, kw_only=True)
class Report:
    """What a server has seen."""

    requests_count: int = 0
    open_peak_count: int = 0
    """Most requests that were open at once."""
    open_peak_of_one_run_count: int = 0
    """Most requests of one run that were open at once."""


@dataclass(slots=True, kw_only=True)
class _Seen:
    report: Report = field(default_factory=Report)
    open: Counter[str] = field(default_factory=Counter[str])

    def begin(self, target: str) -> None:
        self.open[target] += 1
        self.report.requests_count += 1
        self.report.open_peak_count = max(self.report.open_peak_count, self.open.total())
        self.report.open_peak_of_one_run_count = max(self.report.open_peak_of_one_run_count, self.open[target])


@contextmanager
def slow_server(*, answer_after_s: float) -> Generator[str]:
    """Serve in another process while the block runs, and give the URL."""
    command = [sys.executable, "-m", "tests.servers.slow_server", str(answer_after_s)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=_TOP) as process:
        assert process.stdout is not None
        yield f"http://127.0.0.1:{int(process.stdout.readline())}"
        process.terminate()


def report(url: str) -> Report:
    """Ask a server what it has seen."""
    with urllib.request.urlopen(f"{url}/report") as answer:
        seen: dict[str, Any] = json.load(answer)
    return Report(**seen)


async def _serve(answer_after_s: float) -> None:
    seen = _Seen()

    async def answer(stream: SocketStream) -> None:
        async with stream:
            head = b""
            while not head.endswith(b"\r\n\r\n"):
                head += await stream.receive()
            target = head.split(b" ")[1].decode("ascii")
            body = b"{}"
            if target == "/report":
                counts = seen.report
                body = json.dumps({name: getattr(counts, name) for name in Report.__slots__}).encode()
            else:
                seen.begin(target)
                await anyio.sleep(answer_after_s)
                seen.open[target] -= 1
            await stream.send(
                b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s" % (len(body), body)
            )

    listener = await anyio.create_tcp_listener(local_host="127.0.0.1", backlog=4096)
    print(listener.extra(SocketAttribute.local_port), flush=True)
    await listener.serve(answer)


if __name__ == "__main__":
    anyio.run(_serve, float(sys.argv[1]))
