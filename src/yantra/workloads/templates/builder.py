"""`TemplateBuilder`, which builds a template from blocks, from where traces are encoded."""

from yantra.chakra.stamping import Edge, TemplateBuilder

__all__ = ["Edge", "TemplateBuilder"]
