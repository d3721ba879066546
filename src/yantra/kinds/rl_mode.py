"""Modes of post-training: which loop plays a step, and how far ahead it generates."""

from __future__ import annotations

from typing import Any

from yantra.base.contract import Contract
from yantra.base.registry import Registry
from yantra.kinds.kind import Kind, Use

SKELETON = '''"""my_plugin: one step ahead, and every mini-batch brings new weights.

Trade-off: samples are of newer weights than in one-off, for a refit after each optimizer step.
Source: name the paper or the framework that this mode is from.
"""

from yantra.plugin.rl_mode import Loop, Mode


class MyPlugin(Mode):
    about = "one step ahead, with new weights after each mini-batch"
    # Whether the same GPUs generate and train, and whether one waits for the other.
    colocated = False
    waits = False
    # What --staleness counts ("steps", "mini-batches"), or how many steps ahead the mode is.
    counts = ""
    ahead = 1

    def loop(self, asked):
        # Groups are prompts with their samples: asked.prompts of them are trained in a step,
        # asked.minibatch in an optimizer step. Loop has the fields of yantra.rl.Job.
        return Loop(
            "k-off",
            groups_per_step=asked.minibatch,
            k=asked.prompts // asked.minibatch,
            refit_rule=asked.refit_rule,
            kv=asked.kv,
        )

    def most_stale(self, asked):
        # Mini-batches that no sample exceeds, or None.
        return asked.prompts // asked.minibatch


PLUGIN = MyPlugin
'''


class Modes(Kind):
    """A class derived from `yantra.plugin.rl_mode.Mode`."""

    skeleton = SKELETON

    def registry(self) -> Registry[Any]:
        from yantra.rl.modes import modes

        return modes

    def contract(self) -> Contract:
        from yantra.kinds.rl_mode_laws import CONTRACT

        return CONTRACT

    def use(self, file: str) -> Use:
        return Use(
            "yantra rl --model llama3-8b --cluster hgx-h100 --gpus 8 --prompts 16 --generations 8 "
            f"--lengths mean=500,cap=2048 --mode {file}"
        )


PLUGIN = Modes
