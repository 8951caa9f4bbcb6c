"""The secrets of one run: which request carries which value, decided anew for each hop.

Invariants:
    1. A value is in no `Request` that comes from the script, goes through a tape or follows a redirect: those hold
       handles. `RunSecrets.attach` makes another one, for the wire, after the addresses were checked.
    2. Nothing that comes back from the wire passes without `RunSecrets.scrubber`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from keelbox.egress.faults import denied, invalid
from keelbox.egress.request import Request
from keelbox.egress.scrub import Scrubber
from keelbox.egress.secrets_handle import find_handles, has_handle, place_values
from keelbox.egress.secrets_rule import SecretRule
from keelbox.errors import UsageError

__all__ = ["NO_SECRETS", "RunSecrets"]

_VALUE = re.compile(r"[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?")


class RunSecrets:
    """What a run's tool declares, and the values that there are.

    Args:
        rules: of the declaration.
        values: by name; one that is missing makes the requests that need it fail.

    Attributes:
        scrubber: takes the values out of whatever comes back.

    Raises:
        UsageError: a value cannot be sent or could not be scrubbed; or two rules want the same header.
    """

    def __init__(self, rules: Sequence[SecretRule], values: Mapping[str, str]) -> None:
        self._rules = {rule.name: rule for rule in rules}
        if len(self._rules) < len(rules):
            raise UsageError("a secret is declared twice")
        for name, value in values.items():
            if not _VALUE.fullmatch(value):
                raise UsageError(
                    f"the value of secret {name} is not visible ASCII text",
                    hint="take away line breaks and spaces at its ends; of other text, store the base64 form",
                )
        self._values = {name: value for name, value in values.items() if name in self._rules}
        self.scrubber = Scrubber(values)

    def check(self, request: Request) -> None:
        """Decide whether the script placed its handles well. Needs no value and touches no network.

        Raises:
            EgressError: ``request-invalid``: a handle stands where none may, or names no secret of the tool, or the
                script sets a header that the host sets; ``denied``: the value may not go there.
        """
        for name, pointer in find_handles(request):
            rule = self._rules.get(name)
            if rule is None:
                raise invalid(
                    "a handle names a secret that the tool does not declare",
                    f"secret {name} is not among the tool's secrets ({', '.join(self._rules) or 'none'})",
                )
            if pointer is not None and pointer not in rule.fields:
                raise invalid(
                    "a secret's handle stands in a field of the body that its declaration does not list",
                    f"secret {name} stands in {pointer[:200]!r}, its fields are {', '.join(rule.fields) or '(none)'}; "
                    "add it there if it belongs there",
                )
            if (refusal := rule.refusal(request.method, request.url)) is not None:
                raise denied(f"secret {name}: {refusal}")
        given = {name.lower(): value for name, value in request.headers}
        for rule, header in self._attached(request):
            if header.lower() in given and not has_handle(given[header.lower()], rule.name):
                raise invalid(
                    "the script sets a header that the host sets, with a secret",
                    f"header {header!r} is set with secret {rule.name}; leave it out, or place the handle in it",
                )

    def needed(self, request: Request) -> tuple[str, ...]:
        """Say which secrets a request carries, which `check` has passed.

        Raises:
            EgressError: ``denied``: one of them has no value.
        """
        placed = (name for name, _ in find_handles(request))
        names = tuple(dict.fromkeys((*placed, *(rule.name for rule, _ in self._attached(request)))))
        for name in names:
            if name not in self._values:
                raise denied(
                    f"secret {name} has no value; set KEELBOX_SECRET_{name} in the environment, "
                    f"or write {name} into secrets.yaml"
                )
        return names

    def attach(self, request: Request) -> Request:
        """Make the request for the wire, which holds values. Its addresses have been checked."""
        headers = tuple(
            (header, rule.format.replace("{}", self._values[rule.name]))
            for rule, header in self._attached(request)
            if all(header.lower() != name.lower() for name, _ in request.headers)
        )
        placed = place_values(request, self._values)
        return replace(placed, headers=(*placed.headers, *headers))

    def _attached(self, request: Request) -> Iterator[tuple[SecretRule, str]]:
        """The secrets that the host itself puts into a header of this request."""
        for rule in self._rules.values():
            if rule.header is not None and rule.refusal(request.method, request.url) is None:
                yield rule, rule.header


NO_SECRETS = RunSecrets((), {})
"""For a run whose tool declares none."""
