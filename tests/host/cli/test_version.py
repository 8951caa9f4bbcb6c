"""``keelbox --version``."""

from __future__ import annotations

from importlib import metadata

import pytest
from tests.host.cli.conftest import Keelbox


@pytest.fixture
def distributions(monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """What is installed, by name, as the package metadata would say."""
    versions: dict[str, str] = {}

    def version(name: str) -> str:
        try:
            return versions[name]
        except KeyError:
            raise metadata.PackageNotFoundError(name) from None

    monkeypatch.setattr(metadata, "version", version)
    return versions


def test_version_is_the_installed_one(keelbox: Keelbox, distributions: dict[str, str]) -> None:
    distributions["keelbox"] = "1.2.3"
    done = keelbox("--version")
    assert (done.code, done.out, done.err) == (0, "keelbox 1.2.3\n", "")


def test_checkout_says_that_it_is_not_installed(keelbox: Keelbox, distributions: dict[str, str]) -> None:
    assert distributions == {}
    assert keelbox("--version").out == "keelbox 0+unknown (not installed)\n"
