"""Replays the traces named on the command line and prints the reports as one JSON list."""

from __future__ import annotations

import json
import sys

from yantra.tracing.replay import replay

if __name__ == "__main__":
    reports = [replay(path, iterations=2).as_dict() for path in sys.argv[1:]]
    json.dump(reports, sys.stdout)
