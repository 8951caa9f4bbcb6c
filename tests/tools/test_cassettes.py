"""The example tools answer from their cassettes, with no network, and the cassettes have the shape of the services."""

from __future__ import annotations

import json
import socket
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from tools.service import answer

from keelbox.conversation import MemoryConversation
from keelbox.egress.cassette import Response
from keelbox.egress.cassette_file import read_cassette
from keelbox.egress.method_rule import declared_methods
from keelbox.egress.player import Player
from keelbox.egress.policy import EgressPolicy
from keelbox.limits import effective
from keelbox.outcome import RunOutcome
from keelbox.project import open_project
from keelbox.registry import check_input
from keelbox.runner import Caller, run_script
from keelbox.source_folder import SourceFolder
from keelbox_sandbox.wasm import WasmSandbox

pytestmark = pytest.mark.anyio

TOOLS = Path(__file__).parents[2] / "tools"
PROJECT = open_project(TOOLS)

CALLS: Mapping[str, tuple[str, Any]] = {
    "weather": ("Current Weather", {"city": "Sofia"}),
    "weather-unknown-city": ("Current Weather", {"city": "Atlantis"}),
    "weather-timeout": ("Current Weather", {"city": "Sofia"}),
    "place-lookup": ("Place Lookup", {"place": "Historic Plovdiv"}),
    "place-lookup-unknown-place": ("Place Lookup", {"place": "Old Town, Plovdiv"}),
    "book-search": ("Book Search", {"title": "Dune"}),
    "book-search-unavailable": ("Book Search", {"title": "Dune"}),
}
UNAVAILABLE = ("weather-timeout", "book-search-unavailable")


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="module")
async def sandbox() -> AsyncIterator[WasmSandbox]:
    async with WasmSandbox() as opened:
        yield opened


@pytest.fixture
def no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever asks for an address or a connection fails, and says so."""

    def refuse(*arguments: object, **options: object) -> None:
        raise AssertionError(f"the network was asked for: {arguments}")

    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    monkeypatch.setattr(socket.socket, "connect", refuse)


async def replay(sandbox: WasmSandbox, name: str) -> RunOutcome:
    """Run a cassette's call as the tool's declaration says, and under the input schema."""
    tool_name, value = CALLS[name]
    tool = PROJECT.tool(tool_name)
    check_input(tool, value)
    limits, _ = effective(PROJECT.limits, tool.name, tool.limits)
    return await run_script(
        sandbox=sandbox,
        script=await sandbox.gather(
            tool.entry, SourceFolder(root=PROJECT.root, source_kib=limits.source_kib).read, limits
        ),
        call_input=value,
        caller=Caller(agent_id="main", session_id="s1"),
        limits=limits,
        egress=EgressPolicy(hosts=tool.hosts or ()),
        conversation=MemoryConversation(),
        methods=declared_methods(tool),
        tape=Player(read_cassette(TOOLS / "cassettes" / f"{name}.yaml", shown_as=f"{name}.yaml")),
    )


async def envelope(sandbox: WasmSandbox, name: str) -> Any:
    outcome = await replay(sandbox, name)
    assert outcome.code is None, outcome.message
    (message,) = outcome.messages
    return json.loads(message.content.split("\n")[1])


def test_every_cassette_is_played() -> None:
    assert {path.stem for path in (TOOLS / "cassettes").iterdir()} == set(CALLS)


@pytest.mark.usefixtures("no_network")
async def test_weather_has_the_same_answer_as_the_service(sandbox: WasmSandbox) -> None:
    assert await envelope(sandbox, "weather") == {
        "ok": True,
        "city": "Sofia",
        "country": "Bulgaria",
        "localTime": "2026-06-01T15:00",
        "conditions": "overcast",
        "temperatureC": 25.2,
        "feelsLikeC": 24.8,
        "humidityPercent": 41,
        "windKmh": 9.4,
    }


@pytest.mark.usefixtures("no_network")
async def test_place_is_found(sandbox: WasmSandbox) -> None:
    found = await envelope(sandbox, "place-lookup")
    assert (found["ok"], found["latitude"], found["longitude"]) == (True, 42.1486, 24.752)


@pytest.mark.usefixtures("no_network")
async def test_books_are_found(sandbox: WasmSandbox) -> None:
    found = await envelope(sandbox, "book-search")
    assert (found["ok"], found["foundCount"], found["books"][0]["authors"]) == (True, 3, ["Frank Herbert"])


@pytest.mark.usefixtures("no_network")
@pytest.mark.parametrize("name", [name for name in CALLS if "unknown" in name])
async def test_unknown_name_is_correctable(sandbox: WasmSandbox, name: str) -> None:
    found = await envelope(sandbox, name)
    assert (found["ok"], found["retryable"]) == (False, True)


@pytest.mark.usefixtures("no_network")
@pytest.mark.parametrize("name", UNAVAILABLE)
async def test_source_that_does_not_answer_is_unavailable(sandbox: WasmSandbox, name: str) -> None:
    found = await envelope(sandbox, name)
    assert (found["ok"], found["retryable"]) == (False, False)


async def test_certificate_tells_of_the_exchanges_of_the_cassette(sandbox: WasmSandbox) -> None:
    outcome = await replay(sandbox, "weather-timeout")
    assert [(op.fate, op.code) for op in outcome.certificate.ops] == [("answered", None), ("in-flight", "timeout")]
    assert all((op.detail or "").startswith("replayed from weather-timeout.yaml:") for op in outcome.certificate.ops)


def shape(value: Any, path: str = "") -> set[tuple[str, str]]:
    """The paths of a JSON value, each with the type of what is there; all items of a list have one path."""
    found = {(path, type(value).__name__)}
    items: list[tuple[str, Any]] = []
    if isinstance(value, dict):
        items = list(value.items())  # pyright: ignore[reportUnknownArgumentType]
    elif isinstance(value, list):
        items = [("*", item) for item in value]  # pyright: ignore[reportUnknownVariableType]
    return found.union(*(shape(item, f"{path}/{key}") for key, item in items))


@pytest.mark.parametrize("name", [name for name in CALLS if name not in UNAVAILABLE])
def test_answers_have_the_shape_of_the_service(name: str) -> None:
    """The loopback service and the cassettes stand in for the same public services, so they agree."""
    for exchange in read_cassette(TOOLS / "cassettes" / f"{name}.yaml").exchanges:
        whole = answer(exchange.request.url.target)
        assert isinstance(exchange.result, Response)
        assert exchange.result.status == whole.status
        assert shape(json.loads(whole.body)) <= shape(json.loads(exchange.result.body))


@pytest.mark.parametrize("name", list(CALLS))
def test_head_of_a_cassette_tells_the_command(name: str) -> None:
    text = (TOOLS / "cassettes" / f"{name}.yaml").read_text(encoding="utf-8")
    tool_name, value = CALLS[name]
    context = json.dumps(value, separators=(",", ":"))
    command = (
        f"keelbox run tools/{PROJECT.tool(tool_name).entry} --context '{context}' --replay tools/cassettes/{name}.yaml"
    )
    assert command in " ".join(text.replace("\\\n#", " ").split())
