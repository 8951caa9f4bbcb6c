"""A loopback service that stands in for the public services of the example tools: real HTTP, no internet.

    python -m tools.service                serve until interrupted; prints its address and what it knows
    python -m tools.service -- COMMAND…    start, run COMMAND against it, end with COMMAND's exit code

COMMAND is told where the service is through the environment variables that ``keelbox run`` reads as its own options
(``--allow-loopback``, ``--allow-host``, ``--route``), so the scripts keep the addresses of the real services.

The answers have the shape of the real ones, the odd parts included: an unknown city is a 200 without ``results``, an
unknown place an empty list, coordinates of a place are text. Three names make a service misbehave, see `TROUBLE`.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import FrameType
from typing import Any
from urllib.parse import parse_qsl

__all__ = ["HOSTS", "TROUBLE", "Answer", "answer", "command_environment", "main", "serving"]

HOSTS = ("geocoding-api.open-meteo.com", "api.open-meteo.com", "nominatim.openstreetmap.org", "openlibrary.org")
"""The public services that this one stands in for. Their paths differ, so one port serves all."""

LOOPBACK = "127.0.0.1"

DATA: Mapping[str, Any] = json.loads(Path(__file__).with_name("service_data.json").read_text("utf-8"))
"""The cities, weather, places and books that it knows: add yours to the file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """One response."""

    status: int
    body: str
    content_type: str = "application/json"


def _json(value: Any, status: int = 200) -> Answer:
    return Answer(status=status, body=json.dumps(value, ensure_ascii=False))


TROUBLE: Mapping[str, Answer] = {
    "outage": Answer(status=503, body="Service Unavailable", content_type="text/plain"),
    "maintenance": _json({"success": False, "errors": [{"code": 7003, "message": "maintenance"}]}),
    "garbled": Answer(status=200, body="<html><title>Please log in</title></html>", content_type="text/html"),
}
"""Names (of a city, place or book) that make a service misbehave: down; 200 with an error inside; 200 but no JSON."""


def answer(target: str) -> Answer:
    """What the service says to ``GET target`` (path and query)."""
    path, _, text = target.partition("?")
    query = dict(parse_qsl(text))
    route = ROUTES.get(path)
    if route is None:
        return _json({"error": True, "reason": "Not Found"}, 404)
    wanted = (query.get("name") or query.get("q") or query.get("title") or "").strip().casefold()
    return TROUBLE.get(wanted) or route(wanted, query)


def _cities(wanted: str, query: Mapping[str, str]) -> Answer:
    found = [city for city in DATA["cities"] if city["name"].casefold() == wanted]
    return _json({"results": found, "generationtime_ms": 0.6} if found else {"generationtime_ms": 0.3})


def _weather(wanted: str, query: Mapping[str, str]) -> Answer:
    try:
        latitude, longitude = float(query["latitude"]), float(query["longitude"])
        fields = query["current"].split(",")
    except (KeyError, ValueError):
        return _json({"error": True, "reason": "latitude, longitude and current are needed"}, 400)
    city = min(DATA["cities"], key=lambda each: math.dist((each["latitude"], each["longitude"]), (latitude, longitude)))
    weather = dict(DATA["weather"][city["name"]])
    degrees, speed = "°C", "km/h"
    if query.get("temperature_unit") == "fahrenheit":
        degrees = "°F"
        for name in ("temperature_2m", "apparent_temperature"):
            weather[name] = round(weather[name] * 9 / 5 + 32, 1)
    if query.get("wind_speed_unit") == "mph":
        speed = "mp/h"
        weather["wind_speed_10m"] = round(weather["wind_speed_10m"] / 1.609344, 1)
    units = {
        "temperature_2m": degrees,
        "apparent_temperature": degrees,
        "relative_humidity_2m": "%",
        "wind_speed_10m": speed,
        "weather_code": "wmo code",
    }
    names = [name for name in fields if name in weather]
    return _json(
        {
            **{name: city[name] for name in ("latitude", "longitude", "elevation", "timezone")},
            "current_units": {"time": "iso8601", **{name: units[name] for name in names}},
            "current": {"time": "2026-06-01T15:00", "interval": 900, **{name: weather[name] for name in names}},
        }
    )


def _places(wanted: str, query: Mapping[str, str]) -> Answer:
    found = [place for place in DATA["places"] if place["name"].casefold() == wanted]
    return _json(found[: _limit(query)])


def _books(wanted: str, query: Mapping[str, str]) -> Answer:
    author = query.get("author", "").casefold()
    found = [
        book
        for book in DATA["books"]
        if wanted in book["title"].casefold() and any(author in name.casefold() for name in book["author_name"])
    ]
    return _json({"numFound": len(found), "start": 0, "numFoundExact": True, "docs": found[: _limit(query)]})


def _limit(query: Mapping[str, str]) -> int:
    text = query.get("limit", "")
    return int(text) if text.isascii() and text.isdecimal() else 10


ROUTES = {"/v1/search": _cities, "/v1/forecast": _weather, "/search": _places, "/search.json": _books}


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = 30  # seconds without a byte, then the connection is closed

    def do_GET(self) -> None:
        reply = answer(self.path)
        data = reply.body.encode()
        self.send_response(reply.status)
        self.send_header("Content-Type", f"{reply.content_type}; charset=utf-8")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: Any) -> None:
        if isinstance(self.server, _Server) and self.server.talkative:
            print(format % args, file=sys.stderr)


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, port: int, *, talkative: bool) -> None:
        super().__init__((LOOPBACK, port), _Handler)
        self.talkative = talkative

    @property
    def url(self) -> str:
        return f"http://{LOOPBACK}:{self.server_address[1]}"


@contextmanager
def serving(port: int = 0, *, talkative: bool = False) -> Generator[str, None, None]:
    """Serve on loopback in a thread while the block runs, and give the service's URL.

    Args:
        port: 0 takes a free one.
        talkative: print one line for each request to standard error.

    Raises:
        OSError: the port is taken.
    """
    with _Server(port, talkative=talkative) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, name="example-service")
        thread.start()
        try:
            yield server.url
        finally:
            server.shutdown()
            thread.join()


def command_environment(url: str) -> dict[str, str]:
    """The variables that make ``keelbox run`` send the requests of the example tools to the service at ``url``."""
    return {
        "KEELBOX_RUN_ALLOW_LOOPBACK": "1",
        "KEELBOX_RUN_ALLOW_HOST": " ".join(HOSTS),
        "KEELBOX_RUN_ROUTE": " ".join(f"{host}={url}" for host in HOSTS),
    }


def _run(command: Sequence[str]) -> int:
    running: list[subprocess.Popen[bytes]] = []
    ended = False

    def end(number: int, frame: FrameType | None) -> None:
        nonlocal ended
        ended = True
        for process in running:
            process.terminate()

    # Ctrl-C in a terminal reaches the command by itself. Handlers that raise would not do: an exception while the
    # command is being started would leave it behind.
    signal.signal(signal.SIGINT, lambda number, frame: None)
    signal.signal(signal.SIGTERM, end)
    with serving() as url:
        try:
            process = subprocess.Popen(command, env={**os.environ, **command_environment(url)})  # noqa: S603
        except OSError as error:
            print(f"cannot run {command[0]}: {error.strerror}", file=sys.stderr)
            return 127  # as a shell says it
        running.append(process)
        if ended:
            process.terminate()
        code = process.wait()
    return code if code >= 0 else 128 - code


def _serve(port: int) -> int:
    with serving(port, talkative=True) as url:
        print(f"serving on {url}, for:")
        for host in HOSTS:
            print(f"  --route {host}={url}")
        for kind, key in (("cities", "name"), ("places", "name"), ("books", "title")):
            print(f"{kind}: {', '.join(each[key] for each in DATA[kind])}")
        print(f"misbehaves for: {', '.join(TROUBLE)}")
        print("stop with Ctrl-C", flush=True)
        signal.sigwait({signal.SIGINT, signal.SIGTERM})
    return 0


def main(arguments: Sequence[str] | None = None) -> int:
    """Serve, or run a command against the service; give the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.service", description="Loopback service for the example tools."
    )
    parser.add_argument("--port", type=int, default=0, help="port to serve on; default: a free one")
    parser.add_argument(
        "command", nargs="*", help="run this command against the service, then stop; write -- before it"
    )
    options = parser.parse_args(arguments)
    try:
        if options.command:
            return _run(options.command)
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM})
        return _serve(options.port)
    except (OSError, OverflowError) as error:
        print(f"cannot serve on {LOOPBACK}:{options.port}: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
