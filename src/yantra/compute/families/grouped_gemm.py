"""Grouped products: a product for each expert, one after the other at the rate of one of them all.

Estimated as one product of the rows of all experts, which is right while each has a few tiles of
rows.
"""

from __future__ import annotations

from typing import ClassVar

from yantra.compute.families.gemm import Gemm


class GroupedGemm(Gemm):
    """Products of a mixture of experts."""

    op_classes: ClassVar[tuple[str, ...]] = ("grouped_gemm",)
    subject = "grouped GEMM"


PLUGIN = GroupedGemm
