"""Workloads as templates: one trace per class of equal ranks, with relative groups and peers.

A `Workload` is saved as one file (`.yw`), whose size does not depend on the number of ranks, and
expanded to plain Chakra traces for other simulators.
"""

from yantra.workloads.templates.builder import Edge, TemplateBuilder
from yantra.workloads.templates.parts import RankClass
from yantra.workloads.templates.workload import Ordering, Workload, load

__all__ = ["Edge", "Ordering", "RankClass", "TemplateBuilder", "Workload", "load"]
