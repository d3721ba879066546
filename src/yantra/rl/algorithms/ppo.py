"""PPO: a critic of the policy's size, and a reward model.

Source: Ouyang et al., InstructGPT, arXiv 2203.02155 (2022), section 3.5.
"""

from __future__ import annotations

from yantra.rl.algorithms.algorithm import Algorithm


class PPO(Algorithm):
    title = "PPO"
    source = "Ouyang et al., InstructGPT, arXiv 2203.02155 (2022), section 3.5"
    critic = True
    reward_model = True


PLUGIN = PPO
