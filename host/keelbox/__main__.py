"""``python -m keelbox``: the same as the ``keelbox`` command."""

from __future__ import annotations

import sys

from keelbox.cli import main

if __name__ == "__main__":
    sys.exit(main())
