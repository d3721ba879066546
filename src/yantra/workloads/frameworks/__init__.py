"""Training frameworks' own files: read as jobs, and written so that they start a plan.

Each framework has one table of its keys and a plan's fields, used both ways. What is written is
read back; trade-off: a field that does not come back the same is refused, however small.
"""

from __future__ import annotations

from yantra.workloads.frameworks.emit import FRAMEWORKS, Start, check_name, emit, schedules_on
from yantra.workloads.frameworks.recognise import read

__all__ = ["FRAMEWORKS", "Start", "check_name", "emit", "read", "schedules_on"]
