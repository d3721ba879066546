"""What `stack` may say beside a stack's name or file: at which speeds a job runs.

NAME, FILE   measured kernels and collectives, with what the framework adds
auto         the stack that is nearest to the framework that the job names; `unknown` without one
unknown      the same with the mixture of the shipped stacks; what nobody says
roofline     peak rates as software reaches them, links as they reach them; nothing else
nominal      the rates of the data sheet
"""

from __future__ import annotations

from typing import Literal

Speeds = Literal["achievable", "nominal", "measured"]
"""How a cluster is expanded: links and products at the rates that software reaches, at those of the
data sheet, or links as software reaches them, and kernels and collectives by tables."""

UNKNOWN, ROOFLINE, NOMINAL = "unknown", "roofline", "nominal"
AUTO = "auto"
"""The stack of the framework that a job or a recording names (`auto.py`)."""
DEFAULT = UNKNOWN
"""What runs where nobody says."""
WITHOUT_TERMS: dict[str, Speeds] = {ROOFLINE: "achievable", NOMINAL: "nominal"}
"""Choices that are speeds alone: no stack file stands behind them."""


TOO_FAST = {ROOFLINE: "20 to 55 %", NOMINAL: "25 to 60 %"}
"""By how much runs without terms are short of measured steps (docs/reference/accuracy.md)."""
CHOICES = (AUTO, UNKNOWN, *WITHOUT_TERMS)
"""What a choice may say beside a name and a file."""


def speeds_of(stack: str) -> Speeds:
    return WITHOUT_TERMS.get(stack, "measured")
