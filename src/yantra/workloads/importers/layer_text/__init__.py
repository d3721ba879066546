"""Text workloads of ASTRA-sim 1.0: a line per layer, made into Chakra traces.

from yantra.workloads.importers.layer_text import convert
convert("vgg16.txt", "out/vgg16", dims=(16, 16))
"""

from yantra.workloads.importers.layer_text.convert import Converted, convert, parse_dims
from yantra.workloads.importers.layer_text.parse import parse, read
from yantra.workloads.importers.layer_text.upstream import convert_upstream
from yantra.workloads.importers.layer_text.workload import Layer, Phase, Workload

__all__ = [
    "Converted",
    "Layer",
    "Phase",
    "Workload",
    "convert",
    "convert_upstream",
    "parse",
    "parse_dims",
    "read",
]
