"""Text workloads of ASTRA-sim 1.0: a line per layer, made into Chakra traces.

from yantra.chakra.text import convert
convert("vgg16.txt", "out/vgg16", dims=(16, 16))
"""

from yantra.chakra.text.convert import Converted, convert, parse_dims
from yantra.chakra.text.parse import parse, read
from yantra.chakra.text.upstream import convert_upstream
from yantra.chakra.text.workload import Layer, Phase, Workload

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
