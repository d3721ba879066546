"""Workloads as templates: one trace per class of equal ranks, with relative groups and peers.

A `Workload` is saved as one file (`.yw`), whose size does not depend on the number of ranks, and
expanded to plain Chakra traces for other simulators.
"""

from yantra.workloads.template.builder import Edge, TemplateBuilder
from yantra.workloads.template.parts import RankClass
from yantra.workloads.template.workload import Ordering, Workload, load

__all__ = ["Edge", "Ordering", "RankClass", "TemplateBuilder", "Workload", "load"]
