"""The loopback service answers as the public services do, over real HTTP, and gets out of the way."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.client import HTTPConnection
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

import pytest
from tools.service import HOSTS, command_environment, serving

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with serving() as url:
        yield url


def get(url: str, target: str) -> tuple[int, str]:
    connection = HTTPConnection(urlsplit(url).netloc, timeout=10)
    try:
        connection.request("GET", quote(target, safe="/?=&,.%"))
        response = connection.getresponse()
        return response.status, response.read().decode()
    finally:
        connection.close()


def get_json(url: str, target: str) -> Any:
    status, body = get(url, target)
    assert status == 200
    return json.loads(body)


@pytest.mark.parametrize("name", ["Sofia", "sofia", "Plovdiv", "Reykjavik"])
def test_known_city_has_coordinates(url: str, name: str) -> None:
    (city,) = get_json(url, f"/v1/search?name={name}&count=1")["results"]

    assert city["name"] == name.title()
    assert isinstance(city["latitude"], float)


def test_unknown_city_has_no_results_field(url: str) -> None:
    assert get_json(url, "/v1/search?name=Atlantis") == {"generationtime_ms": 0.3}


def test_weather_has_the_asked_fields(url: str) -> None:
    weather = get_json(url, "/v1/forecast?latitude=42.7&longitude=23.3&current=temperature_2m,weather_code")

    assert weather["current"] == {
        "time": "2026-06-01T15:00",
        "interval": 900,
        "temperature_2m": 25.2,
        "weather_code": 3,
    }
    assert weather["current_units"]["temperature_2m"] == "°C"


def test_weather_comes_in_imperial_units(url: str) -> None:
    units = "temperature_unit=fahrenheit&wind_speed_unit=mph"

    weather = get_json(url, f"/v1/forecast?latitude=42.7&longitude=23.3&current=temperature_2m,wind_speed_10m&{units}")

    assert (weather["current"]["temperature_2m"], weather["current"]["wind_speed_10m"]) == (77.4, 5.8)


@pytest.mark.parametrize("query", ["", "?latitude=x&longitude=1&current=a", "?latitude=1&longitude=1"])
def test_weather_of_nowhere_is_refused(url: str, query: str) -> None:
    assert get(url, f"/v1/forecast{query}")[0] == 400


def test_place_is_found_by_one_of_its_names_only(url: str) -> None:
    (place,) = get_json(url, "/search?q=Historic%20Plovdiv&format=jsonv2")

    assert (place["lat"], place["lon"]) == ("42.1486000", "24.7520000")
    assert get_json(url, "/search?q=Old%20Town,%20Plovdiv&format=jsonv2") == []


@pytest.mark.parametrize(
    ("query", "titles"),
    [
        ("title=Dune", ["Dune", "Dune Messiah", "Children of Dune"]),
        ("title=Dune&limit=1", ["Dune"]),
        ("title=dune&author=herbert", ["Dune", "Dune Messiah", "Children of Dune"]),
        ("title=Dune&author=Vazov", []),
        ("title=Дюн", []),
    ],
)
def test_books_are_found_by_latin_title(url: str, query: str, titles: list[str]) -> None:
    assert [book["title"] for book in get_json(url, f"/search.json?{query}")["docs"]] == titles


@pytest.mark.parametrize("target", ["/v1/search?name={}", "/search?q={}", "/search.json?title={}"])
def test_every_source_can_misbehave(url: str, target: str) -> None:
    assert get(url, target.format("outage"))[0] == 503
    assert get_json(url, target.format("maintenance"))["success"] is False
    status, body = get(url, target.format("garbled"))
    assert (status, body[0]) == (200, "<")


@pytest.mark.parametrize("target", ["/", "/v1/none", "//[", "/search/"])
def test_other_paths_are_not_found(url: str, target: str) -> None:
    assert get(url, target)[0] == 404


def test_service_listens_on_loopback_only(url: str) -> None:
    assert urlsplit(url).hostname == "127.0.0.1"


def test_command_is_told_every_host() -> None:
    """Lists are separated by spaces: that is how click reads a repeatable option from a variable."""
    variables = command_environment("http://127.0.0.1:8765")

    assert variables["KEELBOX_RUN_ALLOW_LOOPBACK"] == "1"
    assert tuple(variables["KEELBOX_RUN_ALLOW_HOST"].split()) == HOSTS
    assert variables["KEELBOX_RUN_ROUTE"].split()[0] == "geocoding-api.open-meteo.com=http://127.0.0.1:8765"


def start(*arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "tools.service", *arguments],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )


def test_command_reaches_the_service_and_gives_its_exit_code() -> None:
    program = (
        "import os, sys, urllib.request\n"
        "url = os.environ['KEELBOX_RUN_ROUTE'].split()[0].partition('=')[2]\n"
        "print(urllib.request.urlopen(url + '/v1/search?name=Sofia').status, *sys.argv[1:])\n"
        "raise SystemExit(7)"
    )

    with start("--", sys.executable, "-c", program, "--", "-x") as process:
        out, err = process.communicate()

    assert (out, err, process.returncode) == ("200 -- -x\n", "", 7)


def test_command_that_does_not_exist_is_told() -> None:
    with start("--", "/nonexistent/command") as process:
        out, err = process.communicate()

    assert (out, process.returncode) == ("", 127)
    assert err == "cannot run /nonexistent/command: No such file or directory\n"


def test_command_killed_by_a_signal_gives_the_shells_code() -> None:
    with start("--", "sh", "-c", "kill -TERM $$") as process:
        process.communicate()

    assert process.returncode == 128 + signal.SIGTERM


def test_command_ends_with_the_service() -> None:
    """The command must not outlive the service that it talks to."""
    with start("--", "sh", "-c", "echo $$; exec sleep 600") as process:
        assert process.stdout is not None
        command = int(process.stdout.readline())
        process.terminate()
        process.communicate()

    assert process.returncode == 128 + signal.SIGTERM
    with pytest.raises(ProcessLookupError):
        os.kill(command, 0)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_serving_says_where_and_ends_cleanly(number: signal.Signals) -> None:
    with start() as process:
        assert process.stdout is not None
        lines = [process.stdout.readline()]
        while "stop with" not in lines[-1]:
            lines.append(process.stdout.readline())
        url = lines[0].removeprefix("serving on ").partition(",")[0]
        assert get(url, "/v1/search?name=Sofia")[0] == 200
        process.send_signal(number)
        _, err = process.communicate()

    assert process.returncode == 0
    assert f"  --route openlibrary.org={url}\n" in lines
    assert "GET /v1/search?name=Sofia" in err


def test_port_that_is_taken_is_told(url: str) -> None:
    port = urlsplit(url).port

    with start("--port", str(port)) as process:
        out, err = process.communicate()

    assert (out, process.returncode) == ("", 2)
    assert err.startswith(f"cannot serve on 127.0.0.1:{port}: ")


def test_serving_leaves_no_server_thread(url: str) -> None:
    def names() -> list[str]:
        return sorted(thread.name for thread in threading.enumerate() if thread.name == "example-service")

    before = names()
    with serving() as second:
        assert get(second, "/v1/search?name=Sofia")[0] == 200
        assert len(names()) == len(before) + 1

    assert names() == before
