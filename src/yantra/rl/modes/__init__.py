"""Modes of post-training, a file each: which loop plays a step, and how far ahead it generates."""

from __future__ import annotations

from typing import TYPE_CHECKING

from yantra.base.errors import ConfigError, expected_got
from yantra.base.plugin_files import what_was_raised
from yantra.base.registry import Registry
from yantra.rl.modes.mode import Asked, Loop, Mode

if TYPE_CHECKING:
    from yantra.base.plugin_files import Named

__all__ = ["Asked", "Loop", "Mode", "loop_of", "mode_of", "modes"]

modes: Registry[type[Mode]] = Registry(
    "mode of post-training", "yantra.rl.modes", "yantra.rl_modes", base=Mode
)


def mode_of(name: Named) -> Mode:
    """Return the mode of a name, file or class. Raises ConfigError."""
    return modes.get(name, "--mode")()


def loop_of(mode: Mode, asked: Asked) -> Loop:
    """Return what a mode says, checked but for words and numbers, which a job checks.

    Raises ConfigError.
    """
    where = f"{type(mode).__name__}: loop"
    try:
        given = mode.loop(asked)
    except Exception as error:
        raise ConfigError("--mode", f"{where} raises {what_was_raised(error)}") from error
    if not isinstance(given, Loop):
        raise ConfigError("--mode", f"{where}: {expected_got('a Loop', given)}")
    each = given.groups_per_step
    if each is not None and (type(each) is not int or each < 1 or asked.prompts % each):
        problem = expected_got(f"a divisor of the {asked.prompts} prompts of a step", each)
        raise ConfigError("--mode", f"{where}: groups_per_step: {problem}")
    return given
