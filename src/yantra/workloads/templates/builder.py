"""Building a template from blocks: `TemplateBuilder`, from where traces are encoded."""

from yantra.chakra.stamping import Edge, TemplateBuilder

__all__ = ["Edge", "TemplateBuilder"]
