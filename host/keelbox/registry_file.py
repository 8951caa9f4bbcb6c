"""The registry as a person writes it: which fields there are, and of what type. What the fields must be together is in
``registry_rules``; what the rest of the host sees is in ``registry``.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Discriminator, Field, Tag

__all__ = [
    "AccessEntry",
    "FeedEntry",
    "KeenFile",
    "KeenToolEntry",
    "LivenessEntry",
    "RegistryFile",
    "SecretEntry",
    "ToolEntry",
]

Text = Annotated[str, Field(min_length=1)]
Expression = Annotated[str, Field(min_length=1)]
"""CEL: pure, no clock, no network."""
Label = Annotated[str, Field(pattern=r"^[A-Za-z][A-Za-z0-9_-]*$")]
"""A word that also names a file."""


class _Entry(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)


class AccessEntry(_Entry):
    """A rule over the ambient values: who may use the tool."""

    id: Text
    allows: Expression
    reason: Text | None = None


class LivenessEntry(_Entry):
    """How long a long tool may say nothing."""

    max_silence_s: Annotated[float, Field(gt=0)]


class SecretEntry(_Entry):
    """A secret of the operator, and which requests may carry it; see `keelbox.egress.secrets_rule.SecretRule`."""

    name: Text
    hosts: tuple[Text, ...]
    methods: tuple[Text, ...] | None = None
    paths: tuple[Text, ...] | None = None
    header: Text | None = None
    format: Text = "{}"
    fields: tuple[Text, ...] = ()


class FeedEntry(_Entry):
    """Which block the result goes to, and as which event."""

    block: Label
    event: Text


def _access_tag(value: Any) -> str | None:
    if isinstance(value, dict):
        return "rule"
    return "public" if value == "public" else None


Access = Annotated[
    Annotated[Literal["public"], Tag("public")] | Annotated[AccessEntry, Tag("rule")],
    Discriminator(
        _access_tag,
        custom_error_type="access",
        custom_error_message="must be public, or a rule such as {id: members, allows: has(scope.memberId)}",
    ),
]


class ToolEntry(_Entry):
    """One tool of ``tools.yaml`` or ``tools.json``."""

    name: Text
    type: Literal["script", "flow", "agent", "native"]
    entry: Text
    access: Access
    side_effect: Literal["read", "propose", "write"]
    description: str = ""
    when: str = ""
    input: dict[str, Any] | None = None
    output: dict[str, Any] | None = None
    answers: Literal["conversation", "return"] = "conversation"
    capability: Annotated[str, Field(pattern=r"^[a-z][a-z0-9_-]*(\.[a-z0-9_-]+)*$")] | None = None
    hosts: tuple[Text, ...] = ()
    safe_posts: tuple[Text, ...] = ()
    retries: Annotated[int, Field(ge=0)] = 0
    on_error: Literal["feedback", "fail"] = "feedback"
    limits: dict[str, Any] = {}
    duration: Literal["short", "long"] = "short"
    liveness: LivenessEntry | None = None
    secrets: tuple[SecretEntry, ...] = ()
    idempotency_key: Expression | None = None
    resource: dict[Text, Expression] = {}
    cost_estimate: Annotated[float, Field(ge=0)] = 0.0
    feeds: FeedEntry | None = None
    commit_blocks: tuple[Label, ...] = ()


class RegistryFile(_Entry):
    """``tools.yaml`` or ``tools.json``."""

    tools: tuple[ToolEntry, ...]


class KeenToolEntry(_Entry):
    """One tool of ``keen-tools.json``: what it is called and what starts it, and nothing about what it may do."""

    name: Text
    type: Literal["script", "flow"]
    entry: Text


class KeenFile(_Entry):
    """``keen-tools.json``."""

    tools: tuple[KeenToolEntry, ...]
