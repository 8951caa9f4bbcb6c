"""Where the values of secrets come from."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Protocol

from keelbox.egress.secrets import NO_SECRETS, RunSecrets
from keelbox.egress.secrets_rule import SecretRule

__all__ = ["ENVIRONMENT_PREFIX", "EnvironmentSecrets", "FirstOf", "SecretSource", "load_secrets"]

ENVIRONMENT_PREFIX = "KEELBOX_SECRET_"


class SecretSource(Protocol):
    """Gives the values of secrets: the environment, a file, or an operator's own vault."""

    def get(self, name: str) -> str | None:
        """Get a value by the secret's name; None if there is none. May block.

        Raises:
            KeelboxError: the source cannot be used. The text must not hold a value.
        """
        ...


class EnvironmentSecrets:
    """Values in the environment: ``KEELBOX_SECRET_WEATHER_KEY``. An empty variable counts as none.

    Args:
        environment: the process's own if None.
    """

    def __init__(self, environment: Mapping[str, str] | None = None) -> None:
        self._environment = os.environ if environment is None else environment

    def get(self, name: str) -> str | None:
        """See `SecretSource.get`."""
        return self._environment.get(f"{ENVIRONMENT_PREFIX}{name}") or None


class FirstOf:
    """Several sources; the first that has a value counts."""

    def __init__(self, *sources: SecretSource) -> None:
        self._sources = sources

    def get(self, name: str) -> str | None:
        """See `SecretSource.get`."""
        return next((value for source in self._sources if (value := source.get(name)) is not None), None)


def load_secrets(rules: Sequence[SecretRule], source: SecretSource) -> RunSecrets:
    """Get what a run needs: all values that its tool declares. Blocks as long as the source does.

    Raises:
        UsageError: a value is too short, or cannot be sent.
        KeelboxError: the source cannot be used.
    """
    if not rules:
        return NO_SECRETS
    found = ((rule.name, source.get(rule.name)) for rule in rules)
    return RunSecrets(rules, {name: value for name, value in found if value is not None})
