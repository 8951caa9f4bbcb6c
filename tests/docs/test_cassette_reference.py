"""docs/reference/cassette.md and the program say the same."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from pydantic import BaseModel

from keelbox.egress import cassette_file
from keelbox.egress.cassette import CASSETTE_BYTES_MAX, FATES
from keelbox.egress.cassette_file import parse_cassette
from keelbox.egress.cassette_text import JSON_BYTES_MAX
from keelbox.egress.recorder import CREDENTIAL_WORDS
from keelbox.outcome import Fate

PAGE = (Path(__file__).parents[2] / "docs/reference/cassette.md").read_text(encoding="utf-8")
FIELDS = set(re.findall(r"`([a-z0-9.]+)`", " ".join(re.findall(r"^\| (`[^|]+) \|", PAGE, re.MULTILINE))))
BODY = {"text", "json", "base64"}


def fields(name: str) -> set[str]:
    model: type[BaseModel] = vars(cassette_file)[name]
    return {field.alias or key for key, field in model.model_fields.items()}


def test_example_is_a_cassette() -> None:
    (example,) = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
    exchanges = parse_cassette(example, "example").exchanges
    assert [exchange.request.method for exchange in exchanges] == ["POST", "GET"]
    assert exchanges[0].request.headers["x-api-key"] == "*"


def test_every_field_is_in_a_table() -> None:
    parts = {"request": fields("_RequestEntry"), "response": fields("_ResponseEntry"), "error": fields("_ErrorEntry")}
    of_parts = {f"{part}.{name}" for part, names in parts.items() for name in names - BODY}
    assert of_parts | fields("_CassetteEntry") | BODY == FIELDS
    assert fields("_ExchangeEntry") == set(parts)


def test_codes_and_fates_are_named() -> None:
    (row,) = re.findall(r"^\| `error\.code` \| (.*) \|$", PAGE, re.MULTILINE)
    assert set(re.findall(r"`([a-z-]+)`", row)) == set(FATES)
    (row,) = re.findall(r"^\| `error\.fate` \| (.*) \|$", PAGE, re.MULTILINE)
    assert set(re.findall(r"`([a-z-]+)`", row)) == set(Fate)


@pytest.mark.parametrize("word", CREDENTIAL_WORDS)
def test_words_of_credentials_are_named(word: str) -> None:
    assert f"`{word}`" in PAGE


def test_sizes_are_named() -> None:
    assert f"{CASSETTE_BYTES_MAX // 1024 // 1024} MiB" in PAGE
    assert f"up to {JSON_BYTES_MAX // 1024} KiB" in PAGE
