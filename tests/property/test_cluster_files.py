"""Any cluster file is read, or refused with the place that is wrong."""

from __future__ import annotations

from copy import deepcopy
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from yantra.base.documents import parse_yaml
from yantra.base.errors import ConfigError
from yantra.fabric import clusters
from yantra.fabric.clusters.reader import cluster_of

TREES = [
    parse_yaml(Path(clusters.path_of(name)).read_text(encoding="utf-8"), name)
    for name in ("hgx-h100", "gb200-nvl72", "tpu-v4")
]
anything = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=8)
    | st.sampled_from(["1 GB/s", "2 GiB", "3 ns", "4x4x4", "torus", "ring", "direct7", "[dgx]"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["value", "source", "basis", "kind"]), inner, max_size=3)
    ),
    max_leaves=4,
)


def places(tree: Any) -> list[tuple[Any, Any]]:
    pairs = tree.items() if isinstance(tree, dict) else enumerate(tree)
    found: list[tuple[Any, Any]] = []
    for key, value in pairs:
        found.append((tree, key))
        if isinstance(value, dict | list):
            found += places(value)
    return found


@given(st.sampled_from(TREES), st.data())
def test_a_part_replaced_by_anything_is_read_or_refused(tree: Any, data: st.DataObject) -> None:
    changed = deepcopy(tree)
    container, key = data.draw(st.sampled_from(places(changed)))
    container[key] = data.draw(anything)
    try:
        machine = cluster_of(changed, "some.yaml")
    except ConfigError as error:
        assert error.where.startswith("some.yaml")
        return
    for ranks in (1, 4, 8, 12, 128):
        try:
            assert machine.scenario_parts(ranks)["topology"]
        except ConfigError as error:
            assert error.where == "ranks"


@given(anything)
def test_anything_at_all_is_refused(tree: Any) -> None:
    try:
        cluster_of(tree, "some.yaml")
    except ConfigError as error:
        assert error.where.startswith("some.yaml")
        return
    raise AssertionError
