"""Records the exchanges of a run, and writes them down as a cassette when it has ended."""

from __future__ import annotations

import os
import secrets
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import anyio

from keelbox.egress.answer import Answer, Transport
from keelbox.egress.cassette import (
    ANY_VALUE,
    CASSETTE_BYTES_MAX,
    FATES,
    Exchange,
    Failure,
    Response,
    SentRequest,
    is_json,
    sent,
)
from keelbox.egress.faults import EgressCode, EgressError
from keelbox.egress.url import parse_url
from keelbox.errors import KeelboxError, UsageError

if TYPE_CHECKING:
    from keelbox.egress.policy import Permit
    from keelbox.egress.request import Request
    from keelbox.egress.scrub import Scrubber
    from keelbox.egress.trail import Hop

__all__ = ["CREDENTIAL_WORDS", "Recorder"]

CREDENTIAL_WORDS = ("auth", "credential", "key", "passw", "secret", "session", "signature", "token")
"""A header that a script sets and whose name has one of these in it may hold a credential: its value is not written."""

_HANDLE = "{{secret:"


class Recorder:
    """Writes down what passes between the rules and the network of one run.

    Args:
        path: the cassette.

    Attributes:
        file: its name.
        replays: no.
        exchanges: so far, in order. One in which the run was cut is a ``timeout``.

    Raises:
        UsageError: there can be no file at that path.
    """

    replays = False

    def __init__(self, path: Path) -> None:
        self.exchanges: list[Exchange] = []
        self.file = str(path)
        self._path = path
        self._scrubber: Scrubber | None = None
        self._bytes_count = 0
        if not path.parent.is_dir():
            raise UsageError(f"cannot record to {path}: the folder {path.parent} does not exist", hint="make it first")
        if path.exists() and not path.is_file():
            raise UsageError(f"cannot record to {path}: it is no file", hint="name a file that may be overwritten")

    def over(self, network: Transport, scrubber: Scrubber | None = None) -> Transport:
        """See `Tape.over`."""
        self._scrubber = scrubber
        return _Recording(self, network)

    def left_over(self) -> KeelboxError | None:
        """A run that is recorded may ask for what it likes."""
        return None

    def add(self, request: Request, result: Response | Failure) -> None:
        """Note an exchange. Beyond the largest cassette none is kept, and `close` refuses."""
        self._bytes_count += len(request.body) + (len(result.body) if isinstance(result, Response) else 0)
        if self._bytes_count <= CASSETTE_BYTES_MAX:
            self.exchanges.append(Exchange(request=sent(request), result=result))

    def close(self) -> str:
        """See `Tape.close`: writes the cassette, whole or not at all, in the place of one that is there.

        Raises:
            KeelboxError: it cannot be written, or would be larger than one that can be read.
        """
        from keelbox.egress.cassette_text import cassette_text

        data = cassette_text(map(self._scrubbed, self.exchanges)).encode("utf-8")
        if max(len(data), self._bytes_count) > CASSETTE_BYTES_MAX:
            raise KeelboxError(
                f"cannot record to {self._path}: the exchanges are larger than {CASSETTE_BYTES_MAX} bytes, the largest "
                "cassette",
                hint="let the script ask for less",
            )
        try:
            _replace_file(self._path.resolve(), data)
        except OSError as error:
            raise KeelboxError(f"cannot record to {self._path}: {error.strerror or error}") from None
        count = len(self.exchanges)
        return f"recorded {'1 exchange' if count == 1 else f'{count} exchanges'} in {self._path}"

    def _scrubbed(self, exchange: Exchange) -> Exchange:
        request, result = exchange.request, exchange.result
        request = replace(request, headers=_without_credentials(request.headers))
        if self._scrubber is not None:
            request = _scrubbed_request(request, self._scrubber)
            if isinstance(result, Response):
                result = _scrubbed_response(result, self._scrubber)
        return replace(exchange, request=request, result=result)


class _Recording:
    """The network, listened in on."""

    def __init__(self, recorder: Recorder, network: Transport) -> None:
        self._recorder = recorder
        self._network = network

    async def send(self, request: Request, hop: Hop, permit: Permit, *, room_bytes: int) -> Answer:
        try:
            answer = await self._network.send(request, hop, permit, room_bytes=room_bytes)
        except EgressError as fault:
            if fault.code in FATES:
                self._recorder.add(request, Failure(code=fault.code, fate=hop.stage.fate, status=hop.status))
            raise
        except anyio.get_cancelled_exc_class():
            # The op's time was over, or the run was cut: to a script both are the same silence.
            self._recorder.add(request, Failure(code=EgressCode.TIMEOUT, fate=hop.stage.fate, status=hop.status))
            raise
        headers = dict(answer.headers)
        if answer.location is not None:
            headers["location"] = answer.location.decode("latin-1")
        self._recorder.add(
            request,
            Response(status=answer.status, headers=headers, body=bytes(answer.body), body_is_json=is_json(headers)),
        )
        return answer


def _without_credentials(headers: Mapping[str, str]) -> dict[str, str]:
    """Leave out the values of headers that look like credentials, unless a handle stands for the secret."""
    return {
        name: ANY_VALUE if _HANDLE not in value and any(word in name for word in CREDENTIAL_WORDS) else value
        for name, value in headers.items()
    }


def _scrubbed_request(request: SentRequest, scrubber: Scrubber) -> SentRequest:
    try:
        url = parse_url(scrubber.text(str(request.url)))
    except EgressError:
        raise KeelboxError("cannot record: the value of a secret stands in a host name that was asked for") from None
    return replace(
        request,
        url=url,
        headers=dict(scrubber.headers(request.headers.items())),
        body=scrubber.data(request.body),
    )


def _scrubbed_response(response: Response, scrubber: Scrubber) -> Response:
    headers, body = dict(scrubber.headers(response.headers.items())), scrubber.data(response.body)
    if len(body) != len(response.body):
        headers.pop("content-length", None)
    return replace(response, headers=headers, body=body)


def _replace_file(path: Path, data: bytes) -> None:
    beside = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    try:
        with beside.open("xb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)
