"""Stacks: how much longer jobs take under a framework than their kernels were measured to.

A stack is a file of named terms, every number with its source; most are fitted to published steps
by `yantra.accuracy`. `--stack NAME` chooses one, `yantra stack show` shows them.

    from yantra.fabric import stacks

    stacks.load("megatron-2022").scenario_part("dgx-a100-80gb")
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from yantra.base.late import late

if TYPE_CHECKING:
    from yantra.fabric.stacks.auto import NOBODY, Named, stack_for
    from yantra.fabric.stacks.find import load, names
    from yantra.fabric.stacks.types import ANY, Stack, Terms
else:
    __getattr__, __dir__ = late(
        __name__,
        {
            "auto": "NOBODY Named stack_for",
            "find": "load names",
            "types": "ANY Stack Terms",
        },
    )

__all__ = ["ANY", "NOBODY", "Named", "Stack", "Terms", "load", "names", "stack_for"]
