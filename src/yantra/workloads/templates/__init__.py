"""Workloads as templates: one trace per class of equal ranks, with relative groups and peers.

A `Workload` is one file (`.yw`) whose size does not depend on the number of ranks; it expands to
plain Chakra traces for other simulators.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from yantra.base.late import late

if TYPE_CHECKING:
    from yantra.workloads.templates.builder import Edge, TemplateBuilder
    from yantra.workloads.templates.parts import RankClass
    from yantra.workloads.templates.workload import Ordering, Workload, load
else:
    __getattr__, __dir__ = late(
        __name__,
        {
            "builder": "Edge TemplateBuilder",
            "parts": "RankClass",
            "workload": "Ordering Workload load",
        },
    )

__all__ = ["Edge", "Ordering", "RankClass", "TemplateBuilder", "Workload", "load"]
