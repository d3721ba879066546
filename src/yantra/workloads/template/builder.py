"""Building a template from blocks; the work is done where traces are encoded."""

from yantra.chakra.stamping import Edge, TemplateBuilder

__all__ = ["Edge", "TemplateBuilder"]
