"""Which methods the requests of a run may use, and where: what the declared side effect comes to on the wire."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from keelbox.egress.faults import EgressError, denied
from keelbox.egress.request import METHODS
from keelbox.egress.url import Url, parse_url, printable_url
from keelbox.errors import UsageError
from keelbox.outcome import SAFE_METHODS

__all__ = ["Declared", "MethodRule", "declared_methods"]


class Declared(Protocol):
    """What of a tool's declaration says how it may ask (`keelbox.registry.ToolDeclaration`)."""

    @property
    def side_effect(self) -> str:
        """``read``, ``propose`` or ``write``."""
        ...

    @property
    def safe_posts(self) -> Sequence[str]:
        """URLs to which it may POST although it reads."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class MethodRule:
    """The methods that a run may use.

    Raises:
        UsageError: a URL of ``safe_posts`` is malformed.
    """

    methods: Collection[str] = METHODS
    """Allowed at every URL."""
    safe_posts: Sequence[str] = ()
    """URLs where POST is allowed besides. Scheme, host, port and path must be the same; the query does not count."""
    places: frozenset[str] = field(init=False)

    def __post_init__(self) -> None:
        """Parse the URLs."""
        try:
            places = frozenset(_place(parse_url(text)) for text in self.safe_posts)
        except EgressError as fault:
            raise UsageError(f"safe_posts: {fault.detail}", hint="write https://api.example.com/graphql") from None
        object.__setattr__(self, "places", places)

    def check(self, method: str, url: Url) -> None:
        """Decide on one request; a redirect's next one is a request of its own.

        Raises:
            EgressError: ``denied``.
        """
        if method in self.methods or (method == "POST" and _place(url) in self.places):
            return
        allowed = ", ".join(sorted(self.methods))
        step = "declare side_effect: write, or propose"
        if method == "POST":
            step = f"if it only reads there, list {printable_url(_place(url))} under safe_posts; else {step}"
        raise denied(f"method {method} is not allowed at {url.origin} (allowed: {allowed}); {step}")


def declared_methods(declaration: Declared | None) -> MethodRule:
    """Make the rule for a tool: one that reads may use safe methods, and POST to its ``safe_posts``.

    Args:
        declaration: the tool; None: a script that nothing declares, which may use every method.
    """
    if declaration is None or declaration.side_effect != "read":
        return MethodRule()
    return MethodRule(methods=SAFE_METHODS, safe_posts=declaration.safe_posts)


def _place(url: Url) -> str:
    return url.origin + url.target.partition("?")[0]
