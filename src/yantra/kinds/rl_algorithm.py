"""Algorithms of post-training: what a step scores, trains and throws away."""

from __future__ import annotations

from typing import Any

from yantra.base.contract import Contract
from yantra.base.registry import Registry
from yantra.kinds.kind import Kind, Use

SKELETON = '''"""my_plugin: GRPO without a reference, whose optimizer steps take each sample twice.

Trade-off: half as many samples for as many optimizer steps, and the later ones are off-policy.
Source: Shao et al., DeepSeekMath, arXiv 2402.03300 (2024), algorithm 1, with mu = 2.
"""

from yantra.plugin.rl_algorithm import Algorithm


class MyPlugin(Algorithm):
    title = "my_plugin"
    source = "Shao et al., DeepSeekMath, arXiv 2402.03300 (2024), algorithm 1, with mu = 2"
    # Whether log-probabilities of the policy and of a reference are computed, and whether there
    # are a critic and a reward model of the policy's size.
    policy = True
    reference = False
    critic = False
    reward_model = False

    def work(self, alone):
        # alone.scoring and alone.training are the seconds of one model with a step's samples; the
        # seconds of policy, reference, critic and training come back.
        usual = super().work(alone)
        return usual._replace(training=2 * usual.training)

    # Groups of equal rewards are thrown away, each for another one. For more than these say:
    #
    #     def thrown(self, filtered):
    #         return ...


PLUGIN = MyPlugin
'''


class Algorithms(Kind):
    """A class derived from `yantra.plugin.rl_algorithm.Algorithm`."""

    skeleton = SKELETON

    def registry(self) -> Registry[Any]:
        from yantra.rl.algorithms import algorithms

        return algorithms

    def contract(self) -> Contract:
        from yantra.kinds.rl_algorithm_laws import CONTRACT

        return CONTRACT

    def use(self, file: str) -> Use:
        return Use(
            "yantra rl --model llama3-8b --cluster hgx-h100 --gpus 8 --prompts 16 --generations 8 "
            f"--lengths mean=500,cap=2048 --set algorithm={file}"
        )


PLUGIN = Algorithms
