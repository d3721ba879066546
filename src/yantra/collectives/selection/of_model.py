"""Gives a selection that sends a token once to a node the number of experts of the job's model."""

from __future__ import annotations

from typing import TYPE_CHECKING

from yantra.base.fields import Plugin

if TYPE_CHECKING:
    from yantra.base.fields.plugin import PluginChoice

_COPIES, _OF_MODEL = "copies", 0


def leaves_to_model(choice: PluginChoice | None) -> bool:
    return isinstance(choice, Plugin) and dict(choice.options).get(_COPIES) == _OF_MODEL


def of_model(choice: PluginChoice, experts: int | None) -> PluginChoice:
    if not isinstance(choice, Plugin) or not leaves_to_model(choice):
        return choice
    options = dict(choice.options) | {_COPIES: experts or 1}
    return choice.replace(options=tuple(options.items()))


def by_engine(choice: PluginChoice, engine: str) -> PluginChoice:
    """A selection of measured collectives with a serving engine's own small all-reduces."""
    if not isinstance(choice, Plugin) or choice.kind != "measured":
        return choice
    options = dict(choice.options) | {"engine": engine}
    return choice.replace(options=tuple(options.items()))
