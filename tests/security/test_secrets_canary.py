"""E21, B10: a secret is used for real, and is then in no memory of the guest, no log and no part of the outcome."""

# ruff: noqa: N802

from __future__ import annotations

import base64
import json
import logging
import urllib.parse
from collections.abc import Iterator, Sequence

import pytest
from tests.host.runs import CALLER, contents
from tests.servers.fault_server import FaultServer, Peer, response

from keelbox.conversation import MemoryConversation
from keelbox.egress.policy import EgressPolicy
from keelbox.egress.secrets import RunSecrets
from keelbox.egress.secrets_rule import SecretRule
from keelbox.outcome import RunOutcome
from keelbox.runner import run_script
from keelbox_sandbox.contract import Event, FailureCode, Limits, LogLine, Script
from keelbox_sandbox.wasm import WasmSandbox, capi, run
from keelbox_sandbox.wasm.abi import State
from keelbox_sandbox.wasm.isolate import Isolate

VALUE = "sk_live/4eC39+HqLyj=WDa?jW"
PLANTED = "a text that the guest does hold"

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


class Scanned(Isolate):
    """An isolate whose whole linear memory is copied whenever the host looks at its state, and before it is dropped."""

    memories: Sequence[bytes] = ()

    def state(self) -> State:
        self._copy()
        return super().state()

    def close(self) -> None:
        if self._store:
            self._copy()
        super().close()

    def _copy(self) -> None:
        whole = self.read(0, capi.memory_size(self._context, self._memory.of))
        Scanned.memories = (*Scanned.memories, whole)


def plain_forms(value: str) -> Iterator[bytes]:
    """The value as a server, a log or JSON would write it."""
    plain = value.encode()
    yield from (plain, plain.lower(), plain.hex().encode(), json.dumps(value).encode()[1:-1])
    yield from (urllib.parse.quote(value, safe="").encode(), urllib.parse.quote_plus(value).lower().encode())


def base64_forms(value: str) -> Iterator[bytes]:
    """The same in base64, at each of the three places where it can begin."""
    for before in (b"", b"x", b"xy"):
        for encode in (base64.standard_b64encode, base64.urlsafe_b64encode):
            yield encode(before + value.encode() + b"z")


def looked_for(value: str) -> Iterator[bytes]:
    """What must be nowhere; of base64 the middle, which does not depend on what stands around."""
    yield from plain_forms(value)
    yield from (form[4:-4] for form in base64_forms(value))


def echo(peer: Peer) -> None:
    """Give back whatever came, in the head and in the body, in all forms."""
    seen = peer.read_request()
    if seen.target == "/broken":
        peer.send(f"HTTP/1.1 200 OK\r\nX: {seen.headers['authorization']}\r\nbroken {VALUE}\r\n\r\n".encode())
        return
    got = f"{dict(seen.headers)} {seen.body.decode()}"
    head = base64.b64encode(seen.headers["authorization"].encode())
    body = b" ".join((got.encode(), head, *plain_forms(VALUE), *base64_forms(VALUE)))
    peer.send(response(200, {"X-Echo": seen.headers["authorization"], "X-Body": seen.body.decode()}, body))


SCRIPT = """
import Agent from 'system/agent';
import Http from 'system/http';
import Log from 'system/log';
import Tools from 'system/tools';
export const exec = async (input) => {
    const kept = [`a text that ${'the guest'} does hold`];
    for (const target of ['/', '/broken']) {
        try {
            const answer = await Http.post(input.url + target, { token: '{{secret:KEY}}' });
            kept.push(answer.body, JSON.stringify(answer.headers));
        } catch (error) {
            kept.push(error.code, error.message, error.stack);
        }
    }
    Log.info(kept.join('\\n'));
    ENDING
};
"""


async def outcome_of(
    ending: str, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> tuple[RunOutcome, str]:
    """Run the script against the echo server: the outcome, and every text on the host that came of it."""
    caplog.set_level(logging.DEBUG)
    monkeypatch.setattr(run, "Isolate", Scanned)
    monkeypatch.setattr(Scanned, "memories", ())
    events: list[Event] = []
    conversation = MemoryConversation()
    with FaultServer(echo) as server:
        hosts = (f"127.0.0.1:{server.port}",)
        rule = SecretRule(name="KEY", hosts=hosts, header="authorization", format="Bearer {}", fields=("/token",))
        async with WasmSandbox() as sandbox:
            outcome = await run_script(
                sandbox=sandbox,
                script=Script(entry="tool.js", modules={"tool.js": SCRIPT.replace("ENDING", ending)}),
                call_input={"url": server.url("")},
                caller=CALLER,
                limits=Limits(),
                egress=EgressPolicy(allow_loopback=True),
                conversation=conversation,
                observe=events.append,
                secrets=RunSecrets([rule], {"KEY": VALUE}),
            )
        first, second = server.requests
    assert first.headers["authorization"] == second.headers["authorization"] == f"Bearer {VALUE}"
    assert json.loads(first.body) == {"token": VALUE}
    assert [op.status for op in outcome.certificate.ops] == [200, None]
    return outcome, repr((outcome, events, await contents(conversation), caplog.text))


ENDINGS = {
    None: """Agent.setRootAgentPrompt('main', { prompt: kept.join('\\n'), sessionID: 'caller-session',
        requestID: Tools.generateUUID() }); return kept;""",
    FailureCode.THREW: "throw new Error(kept.join('\\n'));",
}


@pytest.mark.parametrize("code", ENDINGS)
async def test_B10_secret_is_nowhere_after_it_was_used(
    code: FailureCode | None, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    outcome, texts = await outcome_of(ENDINGS[code], caplog, monkeypatch)
    assert outcome.code is code
    assert len(Scanned.memories) >= 3
    for form in looked_for(VALUE):
        for held in (form, form.decode().encode("utf-16-le")):  # as QuickJS holds texts: of 8 or of 16 bits a character
            assert not any(held in memory for memory in Scanned.memories), held
        assert form.decode("latin-1") not in texts, form
    assert "{{secret:KEY}}" in texts


async def test_B10_scan_finds_what_the_guest_holds(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The test above can fail: the same scan finds another text, and a value that the script was given."""
    _, texts = await outcome_of(ENDINGS[None], caplog, monkeypatch)
    assert any(PLANTED.encode() in memory for memory in Scanned.memories)
    assert any(b"{{secret:KEY}}" in memory for memory in Scanned.memories)
    assert PLANTED in texts


async def test_E21_value_that_a_script_guesses_is_masked_in_its_log() -> None:
    """The guest has no value; should one come there some day, the host's edge still masks it."""
    lines: list[str] = []
    rule = SecretRule(name="KEY", hosts=("api.example.com",))
    async with WasmSandbox() as sandbox:
        outcome = await run_script(
            sandbox=sandbox,
            script=Script(
                entry="tool.js",
                modules={
                    "tool.js": "import Log from 'system/log'; export const exec = (guess) => "
                    "{ Log.info(guess); throw new Error(guess); };"
                },
            ),
            call_input=VALUE,
            caller=CALLER,
            limits=Limits(),
            egress=EgressPolicy(),
            conversation=MemoryConversation(),
            observe=lambda event: lines.append(event.text) if isinstance(event, LogLine) else None,
            secrets=RunSecrets([rule], {"KEY": VALUE}),
        )
    assert lines == ["{{secret:KEY}}"] == [line.text for line in outcome.logs]
    assert "{{secret:KEY}}" in (outcome.message or "")
    assert VALUE not in repr(outcome)


async def test_E21_traceback_of_a_host_fault_is_masked(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail(*_: object, **__: object) -> None:
        raise RuntimeError(f"a bug that quotes {VALUE}")

    monkeypatch.setattr("keelbox.egress.client.resolve", fail)
    rule = SecretRule(name="KEY", hosts=("api.example.com",))
    source = "import Http from 'system/http'; export const exec = () => Http.get('https://api.example.com/');"
    async with WasmSandbox() as sandbox:
        outcome = await run_script(
            sandbox=sandbox,
            script=Script(entry="tool.js", modules={"tool.js": source}),
            call_input=None,
            caller=CALLER,
            limits=Limits(),
            egress=EgressPolicy(hosts=["api.example.com"]),
            conversation=MemoryConversation(),
            secrets=RunSecrets([rule], {"KEY": VALUE}),
        )
    assert outcome.code is FailureCode.HOST_ERROR
    assert "a bug that quotes {{secret:KEY}}" in caplog.text
    assert VALUE not in f"{caplog.text}{outcome}{[record.exc_info for record in caplog.records]}"
