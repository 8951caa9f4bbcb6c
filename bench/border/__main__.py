"""``python -m bench.border [--json FILE] [--quick]``: measure, print the tables, write the JSON document."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from . import below, machine, memory, processes, sandboxes
from .figures import Section
from .table import render


def measures(*, is_quick: bool) -> Sequence[Callable[[], Section]]:
    """The sections, in the order of the report."""
    if is_quick:
        return [
            lambda: sandboxes.fresh(rounds_count=1, block_s=0.05),
            lambda: below.below_the_loop(0.1),
            lambda: sandboxes.throughput(0.1),
            *([lambda: sandboxes.suspended(20)] if memory.is_known() else []),
            lambda: below.compute(1),
            lambda: processes.processes(cold_count=1, warm_count=1),
        ]
    return [
        lambda: sandboxes.fresh(rounds_count=4, block_s=0.4),
        lambda: below.below_the_loop(1.0),
        lambda: sandboxes.throughput(1.0),
        *([lambda: sandboxes.suspended(300)] if memory.is_known() else []),
        lambda: below.compute(5),
        lambda: processes.processes(cold_count=3, warm_count=7),
    ]


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and report; nothing is judged by an exit code."""
    parser = argparse.ArgumentParser(prog="python -m bench.border", description=__doc__)
    parser.add_argument("--json", metavar="FILE", type=Path, help="write the figures there too")
    parser.add_argument("--quick", action="store_true", help="a few seconds, for seeing that it works; not for figures")
    options = parser.parse_args(arguments)

    facts = machine.facts()
    load = machine.load_average()
    print(f"{facts['cores_count']} cores, {facts['processor']}, {facts['system']}, {facts['python']}")
    print(", ".join(f"{name} {version or '(not installed)'}" for name, version in facts["versions"].items()))
    if note := machine.load_note(load):
        print(note)

    sections: list[Section] = []
    for measure in measures(is_quick=options.quick):
        section = measure()
        print(f"\n{render(section)}", flush=True)
        sections.append(section)
    if options.json is not None:
        document = {
            "machine": facts,
            "quick": options.quick,
            "load_average": {"before": load, "after": machine.load_average()},
            "sections": [section.as_json() for section in sections],
        }
        options.json.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")
        print(f"\nwritten: {options.json.name}", file=sys.stderr)


if __name__ == "__main__":
    main()
