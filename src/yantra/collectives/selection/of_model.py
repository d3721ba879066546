"""A selection that sends a token once to a node, for the model of a job.

How many experts a token goes to, the model says and not the stack. Where no job has said it, each
copy is sent, as a model without experts does. Trade-off: every all-to-all of a job with experts is
taken for one of experts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from yantra.base.fields import Plugin

if TYPE_CHECKING:
    from yantra.base.fields.plugin import PluginChoice

_COPIES, _OF_MODEL = "copies", 0


def leaves_to_model(choice: PluginChoice | None) -> bool:
    """Return whether a selection leaves to the model how many experts a token has."""
    return isinstance(choice, Plugin) and dict(choice.options).get(_COPIES) == _OF_MODEL


def of_model(choice: PluginChoice, experts: int | None) -> PluginChoice:
    """Return a selection with the `experts` of a token where it leaves them to the model."""
    if not isinstance(choice, Plugin) or not leaves_to_model(choice):
        return choice
    options = dict(choice.options) | {_COPIES: experts or 1}
    return choice.replace(options=tuple(options.items()))
