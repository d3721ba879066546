"""GRPO: advantages from the rewards of a group, so there is no critic.

Source: Shao et al., DeepSeekMath, arXiv 2402.03300 (2024), section 4.1.
"""

from __future__ import annotations

from yantra.rl.algorithms.algorithm import Algorithm


class GRPO(Algorithm):
    title = "GRPO"
    source = "Shao et al., DeepSeekMath, arXiv 2402.03300 (2024), section 4.1"


PLUGIN = GRPO
