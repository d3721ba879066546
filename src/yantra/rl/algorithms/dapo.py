"""DAPO: GRPO without a reference, whose groups of equal rewards are sampled again.

Source: Yu et al., DAPO, arXiv 2503.14476 (2025), sections 2.3 and 3.2.
"""

from __future__ import annotations

from yantra.rl.algorithms.algorithm import Algorithm


class DAPO(Algorithm):
    title = "DAPO"
    source = "Yu et al., DAPO, arXiv 2503.14476 (2025), sections 2.3 and 3.2"
    reference = False


PLUGIN = DAPO
