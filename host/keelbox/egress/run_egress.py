"""All that decides how the requests of one run leave, in one place."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from keelbox.egress.method_rule import MethodRule
from keelbox.egress.policy import EgressPolicy
from keelbox.egress.rates import RequestGate, Sender

if TYPE_CHECKING:
    from keelbox.egress.answer import Tape
    from keelbox.egress.resolve import Resolver
    from keelbox.egress.secrets import RunSecrets

__all__ = ["RunEgress"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunEgress:
    """How the requests of one run leave."""

    policy: EgressPolicy
    """Who may be reached."""
    methods: MethodRule = field(default_factory=MethodRule)
    """Which methods it may use, and where."""
    tape: Tape | None = None
    """Stands between the rules and the network: records what passes, or takes the network's place. It sees no
    secret."""
    secrets: RunSecrets | None = None
    """Which requests carry which values; no reply, error or record holds one. None: it has no secrets."""
    gate: RequestGate | None = None
    """Counts its requests, with those of the process's other runs; None: nobody counts."""
    sender: Sender = field(default_factory=lambda: Sender(tool="", tenant=""))
    """For whom the gate counts them."""
    resolver: Resolver | None = None
    """Where addresses come from; None: the operating system."""
    ca_file: Path | None = None
    """Certificates to trust instead of the system's."""
