"""Drawings of a trace's graph: DOT text, SVG and PDF through graphviz, GraphML.

A graph that is too large is summarised; GraphML is always whole.
"""

from yantra.tracing.inspect.draw.dot import dot_text
from yantra.tracing.inspect.draw.graphml import graphml_text
from yantra.tracing.inspect.draw.links import Cut, Links, cut
from yantra.tracing.inspect.draw.picture import Box, Edge, Picture, drawing
from yantra.tracing.inspect.draw.render import FORMATS, draw, format_of

__all__ = [
    "FORMATS",
    "Box",
    "Cut",
    "Edge",
    "Links",
    "Picture",
    "cut",
    "dot_text",
    "draw",
    "drawing",
    "format_of",
    "graphml_text",
]
