"""What a tool declares about one secret: its name, where its value may go, and how it is written there."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from keelbox.egress.faults import EgressError
from keelbox.egress.headers import check_request_headers
from keelbox.egress.host_rule import HostRule, parse_host_rule
from keelbox.egress.request import METHODS
from keelbox.egress.url import Url
from keelbox.errors import UsageError

__all__ = ["SECRET_NAME", "SecretRule", "header_clash", "secret_problems"]

SECRET_NAME = re.compile(r"[A-Z][A-Z0-9_]{0,63}")
"""The name is part of an environment variable's name, so it has that form."""

_PATH = re.compile(r"/[\x21\x22\x24-\x3e\x40-\x7e]*")
_FIELD = re.compile(r"(?:/(?:[^~/]|~[01])*)+")
"""A JSON pointer (RFC 6901) into an object or list."""

_FORMAT = re.compile(r"[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?")

_AMBIGUOUS_IN_PATH = re.compile(r"%(?:00|25|2e|2f|5c)|//|;", re.IGNORECASE)
"""What servers read in different ways: encoded dots and slashes, a second layer of encoding, path parameters
(``/v1/..;/admin``). A path with one of these fits no path rule."""

_DOTS = re.compile(r"/\.\.?(?:/|$)")
"""Segments that never come to a server: `keelbox.egress.url` takes them out of every URL."""

_HTTPS_PORT = 443


@dataclass(frozen=True, slots=True, kw_only=True)
class SecretRule:
    """One secret of a tool.

    Raises:
        UsageError: a part of it is not valid.
    """

    name: str
    hosts: tuple[str, ...]
    """Exact hosts, each with ``:port`` if it is not the scheme's own. No ``*.``: who may register a name below a domain
    would get the value."""
    methods: tuple[str, ...] | None = None
    """None: all."""
    paths: tuple[str, ...] | None = None
    """``/v1/me`` exactly that path, ``/v1/*`` all that begin with ``/v1/``; None: all. The query is not looked at."""
    header: str | None = None
    """The header in which the host sends the value with every request that fits; None: only where the script asks."""
    format: str = "{}"
    """How the value stands in that header, as ``Bearer {}``."""
    fields: tuple[str, ...] = ()
    """JSON pointers: the fields of a JSON body in which the script may place the handle."""
    host_rules: tuple[HostRule, ...] = field(init=False)

    def __post_init__(self) -> None:
        """Check all parts, and parse the hosts."""
        problems = secret_problems(
            name=self.name,
            hosts=self.hosts,
            methods=self.methods,
            paths=self.paths,
            header=self.header,
            format=self.format,
            fields=self.fields,
        )
        for place, problem in problems:
            raise UsageError(f"secret {self.name[:80]!r}: {'.'.join(map(str, place))} {problem}")
        rules = tuple(parse_host_rule(host, allow_loopback=True) for host in self.hosts)
        object.__setattr__(self, "host_rules", rules)

    def refusal(self, method: str, url: Url) -> str | None:
        """Say why a request may not carry the value; None if it may."""
        if not any(rule.covers(url) for rule in self.host_rules):
            return f"{url.authority} is not among its hosts ({', '.join(self.hosts)})"
        if self.methods is not None and method not in self.methods:
            return f"{method} is not among its methods ({', '.join(self.methods)})"
        if self.paths is not None:
            path = url.target.partition("?")[0]
            if _AMBIGUOUS_IN_PATH.search(path):
                return f"the path {path[:200]!r} can be read in more than one way, so that it fits none of its paths"
            if not any(_fits(path, each) for each in self.paths):
                return f"the path {path[:200]!r} is not among its paths ({', '.join(self.paths)})"
        return None


def secret_problems(
    *,
    name: str,
    hosts: Sequence[str],
    methods: Sequence[str] | None,
    paths: Sequence[str] | None,
    header: str | None,
    format: str,
    fields: Sequence[str],
) -> Iterator[tuple[tuple[str | int, ...], str]]:
    """Find everything that is wrong with the parts of a rule: the place in it, and what is wrong in words that follow
    it. The parts are those of `SecretRule`.
    """
    if not SECRET_NAME.fullmatch(name):
        yield ("name",), "must be capital letters, digits and _, as in WEATHER_KEY: it names an environment variable"
    if not hosts:
        yield ("hosts",), "is empty, so that the value could go nowhere; name the exact hosts that need it"
    for index, host in enumerate(hosts):
        if host.startswith("*"):
            yield ("hosts", index), f"is {host!r}: a secret goes to exact hosts only; write each of them out"
            continue
        try:
            parse_host_rule(host, allow_loopback=True)
        except UsageError as error:
            yield ("hosts", index), "; ".join(filter(None, (error.message, error.hint)))
    for index, method in enumerate(methods or ()):
        if method not in METHODS:
            yield ("methods", index), f"is not one of {', '.join(sorted(METHODS))}"
    if methods is not None and not methods:
        yield ("methods",), "is empty, so that the value could go nowhere; leave it out for all methods"
    if paths is not None and not paths:
        yield ("paths",), "is empty, so that the value could go nowhere; leave it out for all paths"
    for index, path in enumerate(paths or ()):
        if not _PATH.fullmatch(path) or "*" in path[:-1] or _AMBIGUOUS_IN_PATH.search(path) or _DOTS.search(path):
            yield ("paths", index), "must be a plain path such as /v1/me, or the beginning of one, as in /v1/*"
    if header is not None:
        try:
            check_request_headers({header: "x"})
        except EgressError as error:
            yield ("header",), f"cannot be used: {error.detail}"
    elif format != "{}":
        yield ("format",), "says how the value stands in a header; write header too, as in header: authorization"
    if format.count("{}") != 1 or not _FORMAT.fullmatch(format):
        yield ("format",), "must be visible ASCII text with {} once, where the value comes, as in Bearer {}"
    for index, pointer in enumerate(fields):
        if not _FIELD.fullmatch(pointer):
            yield ("fields", index), "must be a JSON pointer such as /auth/key"


def header_clash(first: SecretRule, second: SecretRule) -> str | None:
    """Say on which host one request could need both of two secrets in the same header; None if none could."""
    if first.header is None or second.header is None or first.header.lower() != second.header.lower():
        return None
    if first.methods is not None and second.methods is not None and not set(first.methods) & set(second.methods):
        return None
    if first.paths is not None and second.paths is not None:
        pairs = ((one, two) for one in first.paths for two in second.paths)
        if not any(_overlap(one, two) for one, two in pairs):
            return None
    places = {(rule.host, rule.port or _HTTPS_PORT) for rule in first.host_rules}
    return next((rule.text for rule in second.host_rules if (rule.host, rule.port or _HTTPS_PORT) in places), None)


def _fits(path: str, rule: str) -> bool:
    return path.startswith(rule[:-1]) if rule.endswith("*") else path == rule


def _overlap(one: str, two: str) -> bool:
    if not one.endswith("*"):
        return _fits(one, two)
    return two.startswith(one[:-1]) if not two.endswith("*") else _fits(one[:-1], two) or _fits(two[:-1], one)
