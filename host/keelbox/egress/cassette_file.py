"""A cassette as a person writes or edits it: which fields there are, and what they must be.

Importing this module imports pydantic; import it where a cassette is read.
"""

from __future__ import annotations

import base64
import binascii
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from keelbox.egress.answer import may_have_body
from keelbox.egress.cassette import (
    CASSETTE_BYTES_MAX,
    FATES,
    Cassette,
    Exchange,
    Failure,
    Response,
    SentRequest,
    is_json,
)
from keelbox.egress.faults import EgressCode, EgressError
from keelbox.egress.headers import check_request_headers, check_response_headers, readable_headers
from keelbox.egress.url import parse_url
from keelbox.outcome import Fate
from keelbox.yaml_file import parse_yaml, read_yaml_file
from keelbox_sandbox.codec import encode

if TYPE_CHECKING:
    from keelbox.yaml_file import YamlFile

__all__ = ["parse_cassette", "read_cassette"]

_BODILESS_METHODS = ("GET", "HEAD")
_BODY_FIELDS = ("text", "json", "base64")


class _Entry(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)


class _BodyEntry(_Entry):
    text: str | None = None
    json_value: Annotated[Any, Field(alias="json")] = None
    base64: str | None = None

    @field_validator("base64")
    @classmethod
    def _is_base64(cls, value: str | None) -> str | None:
        if value is not None:
            try:
                base64.b64decode("".join(value.split()), validate=True)
            except binascii.Error as error:
                raise ValueError(f"is not base64: {error}") from None
        return value

    @model_validator(mode="after")
    def _has_one_body(self) -> Self:
        given = [name for name in _BODY_FIELDS if name in self._given]
        if len(given) > 1:
            raise ValueError(f"has its body twice: {' and '.join(given)}; keep one of them")
        return self

    @property
    def _given(self) -> set[str]:
        return {"json" if name == "json_value" else name for name in self.model_fields_set}

    @property
    def body(self) -> bytes:
        if "json" in self._given:
            return encode(self.json_value)
        if self.base64 is not None:
            return base64.b64decode("".join(self.base64.split()))
        return (self.text or "").encode("utf-8")

    @property
    def body_is_json(self) -> bool:
        return "json" in self._given


class _RequestEntry(_BodyEntry):
    method: Literal["GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE"]
    url: str
    headers: dict[str, str] = {}

    @field_validator("url")
    @classmethod
    def _is_url(cls, value: str) -> str:
        try:
            parse_url(value)
        except EgressError as fault:
            raise ValueError(fault.detail) from None
        return value

    @field_validator("headers")
    @classmethod
    def _can_be_sent(cls, value: dict[str, str]) -> dict[str, str]:
        try:
            check_request_headers(value)
        except EgressError as fault:
            raise ValueError(fault.detail) from None
        return {name.lower(): text for name, text in value.items()}

    @model_validator(mode="after")
    def _may_have_its_body(self) -> Self:
        if self.method in _BODILESS_METHODS and self.body:
            raise ValueError(f"a {self.method} request has no body")
        return self

    def to_request(self) -> SentRequest:
        return SentRequest(
            method=self.method,
            url=parse_url(self.url),
            headers=self.headers,
            body=self.body,
            body_is_json=self.body_is_json or is_json(self.headers),
        )


class _ResponseEntry(_BodyEntry):
    status: Annotated[int, Field(ge=200, le=599)]
    headers: dict[str, str] = {}

    @field_validator("headers")
    @classmethod
    def _can_come(cls, value: dict[str, str]) -> dict[str, str]:
        try:
            pairs = [(name.encode("ascii"), text.encode("latin-1")) for name, text in value.items()]
            checked = check_response_headers(pairs)
        except UnicodeEncodeError as error:
            raise ValueError(f"hold the character {error.object[error.start]!r}, which no header can have") from None
        except EgressError as fault:
            raise ValueError(fault.detail) from None
        # The body stands in the cassette without its coding, so what speaks of the coding must not reach the script.
        return readable_headers(checked, decoded="content-encoding" in dict(checked))

    def to_result(self) -> Response:
        return Response(status=self.status, headers=self.headers, body=self.body, body_is_json=self.body_is_json)


class _ErrorEntry(_Entry):
    code: Literal[
        "denied",
        "dns-failed",
        "connect-failed",
        "tls-failed",
        "protocol-error",
        "timeout",
        "response-too-large",
    ]
    fate: Fate | None = None
    status: Annotated[int, Field(ge=200, le=599)] | None = None

    def to_result(self) -> Failure:
        code = EgressCode(self.code)
        return Failure(code=code, fate=self.fate or FATES[code], status=self.status)


class _ExchangeEntry(_Entry):
    request: _RequestEntry
    response: _ResponseEntry | None = None
    error: _ErrorEntry | None = None

    @model_validator(mode="after")
    def _has_one_result(self) -> Self:
        if (self.response is None) == (self.error is None):
            raise ValueError("must have either a response or an error")
        if self.response is not None and self.response.body:
            method, status = self.request.method, self.response.status
            if not may_have_body(method, status):
                raise ValueError(f"a response to {method} with status {status} has no body")
        return self

    def to_exchange(self, line: int) -> Exchange:
        entry = next(each for each in (self.response, self.error) if each is not None)
        return Exchange(request=self.request.to_request(), result=entry.to_result(), line=line)


class _CassetteEntry(_Entry):
    cassette: Literal[1]
    exchanges: tuple[_ExchangeEntry, ...]


def read_cassette(path: Path, *, shown_as: str | None = None) -> Cassette:
    """Read a cassette. Blocks: about a second for each two megabytes of text in it.

    Args:
        path: the file.
        shown_as: the name that messages show; the path by default.

    Raises:
        ConfigError: it cannot be read, or is no cassette; every fault, each with its place.
    """
    return _cassette(read_yaml_file(path, shown_as=shown_as, bytes_max=CASSETTE_BYTES_MAX))


def parse_cassette(text: str, file: str) -> Cassette:
    """Read the text of a cassette; see `read_cassette`."""
    return _cassette(parse_yaml(text, file))


def _cassette(document: YamlFile) -> Cassette:
    entry = document.validated(_CassetteEntry)
    exchanges = tuple(
        each.to_exchange(document.line(("exchanges", index))) for index, each in enumerate(entry.exchanges)
    )
    return Cassette(file=document.file, exchanges=exchanges)
