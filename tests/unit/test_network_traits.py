"""What networks say of themselves."""

from __future__ import annotations

from typing import get_args

from yantra import _core
from yantra.network import Trait, find, names
from yantra.network.model import NetworkModel


def test_python_and_the_core_know_the_same_traits() -> None:
    assert [trait.name for trait in _core.network_traits()] == list(get_args(Trait))


def test_a_trait_has_a_line_and_tells_networks_apart() -> None:
    levels = [find(name) for name in names()]
    for trait in _core.network_traits():
        assert trait.meaning and "\n" not in trait.meaning
        assert len({trait.name in level.traits for level in levels}) == 2, trait.name


def test_a_class_of_python_says_its_traits() -> None:
    class OverDimensions(NetworkModel):
        charges_latency = False

    class OverGraphs(NetworkModel):
        needs_fabric = True

    assert find(OverDimensions).traits == set()
    assert find(OverGraphs).traits == {"charges_latency", "has_links", "on_fabric", "needs_fabric"}
