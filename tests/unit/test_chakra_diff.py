"""`yantra chakra diff`: its report, its JSON and its exit status."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from yantra.base.errors import ConfigError
from yantra.chakra import Attribute, CollectiveType, Kind, Metadata, Node, Trace, TraceBuilder
from yantra.cli import main
from yantra.tracing.inspect.diff import diff

Captured = pytest.CaptureFixture[str]


def step(first_id: int = 0, size: int = 64, schema: str = "1") -> Trace:
    builder = TraceBuilder(first_id=first_id, attributes=[Attribute("schema", schema)])
    forward = builder.compute("forward", duration_micros=5)
    backward = builder.compute("backward", duration_micros=9, after=forward)
    builder.collective(CollectiveType.ALL_REDUCE, size, name="gradients", after=backward)
    return builder.build()


def written(folder: Path, a: Trace, b: Trace) -> list[str]:
    a.write(folder / "a.et")
    b.write(folder / "b.et")
    return [str(folder / "a.et"), str(folder / "b.et")]


def said(folder: Path, a: Trace, b: Trace, capsys: Captured, *options: str) -> tuple[int, str]:
    status = main(["chakra", "diff", *written(folder, a, b), *options])
    return status, capsys.readouterr().out.replace(f"{folder}/", "")


def test_equal_traces_are_said_to_be_equal(tmp_path: Path, capsys: Captured) -> None:
    assert said(tmp_path, step(), step(), capsys) == (0, "a.et and b.et are equal: 3 nodes\n")


def test_the_report_names_every_difference(tmp_path: Path, capsys: Captured) -> None:
    nodes = list(step(10, 128, "2"))
    del nodes[0]["is_cpu_op"]
    nodes[1].data_deps = []
    nodes.append(Node(20, "extra", 4))
    about = Metadata("0.0.4", (Attribute("schema", "2"),))
    status, report = said(tmp_path, step(), Trace(nodes, about), capsys)
    assert status == 1
    assert report.splitlines() == [
        "a.et: 3 nodes",
        "b.et: 4 nodes",
        "metadata",
        "  version: '' -> '0.0.4'",
        "  attribute schema: '1' -> '2'",
        "ids: 3 nodes renumbered, all by +10; the first is 0, now 10",
        "only in b.et: 1 node",
        "  20 'extra' COMP",
        "changed: 3 nodes (attribute is_cpu_op 1, data_deps 1, attribute comm_size 1)",
        "  0 'forward' COMP, now 10",
        "    attribute is_cpu_op: False -> absent",
        "  1 'backward' COMP, now 11",
        "    data_deps: no longer 0",
        "  2 'gradients' COMM_COLL, now 12",
        "    attribute comm_size: 64 -> 128",
    ]


def test_the_report_is_bounded(tmp_path: Path, capsys: Captured) -> None:
    a = Trace([Node(id, f"n{id}", 4) for id in range(50)])
    b = Trace([Node(id, f"n{id}", 4, 1) for id in range(45)])
    _, report = said(tmp_path, a, b, capsys)
    assert "  ... and 35 more nodes" in report
    assert len(report.splitlines()) == 2 + 1 + 5 + 1 + 20 + 1
    _, report = said(tmp_path, a, b, capsys, "--limit", "0")
    assert report.splitlines()[2:] == [
        "only in a.et: 5 nodes",
        "  ... and 5 more nodes",
        "changed: 45 nodes (duration_micros 45)",
        "  ... and 45 more nodes",
    ]


def test_long_values_are_shown_where_they_begin_to_differ(tmp_path: Path, capsys: Captured) -> None:
    long = "x" * 100
    _, report = said(tmp_path, step(schema=f"{long}a{long}"), step(schema=f"{long}b{long}"), capsys)
    before, after = report.splitlines()[3].removeprefix("  attribute schema: ").split(" -> ")
    assert before == f"...{'x' * 20}a{'x' * 36}..."
    assert after == before.replace("a", "b")


def test_json_says_it_all(tmp_path: Path, capsys: Captured) -> None:
    nodes = list(step())
    nodes[2].set("weights", [1.5, float("nan")], Kind.DOUBLE_LIST)
    nodes[2].set("raw", b"\x00\xff")
    status, report = said(tmp_path, step(), Trace(nodes, step().metadata), capsys, "--json")
    form = json.loads(report)
    assert status == 1 and not form["equal"]
    assert form["counts"]["changed"] == 1
    assert form["changed"] == [
        {
            "id": 2,
            "name": "gradients",
            "type": "COMM_COLL",
            "other_id": 2,
            "changes": [
                {"field": "attribute weights", "after": [1.5, "nan"]},
                {"field": "attribute raw", "after": "00ff"},
            ],
        }
    ]


def test_what_is_ignored_does_not_count(tmp_path: Path, capsys: Captured) -> None:
    ignore = [word for name in ("ids", "comm_size", "schema") for word in ("--ignore", name)]
    assert said(tmp_path, step(), step(5, 128, "2"), capsys, *ignore)[0] == 0
    with pytest.raises(ConfigError, match="did you mean 'comm_size'"):
        diff(step(), step(5), ["comm_sise"])


@pytest.mark.parametrize("order", ["attributes", "data_deps"])
def test_an_order_is_a_difference(order: str) -> None:
    nodes, others = list(step()), list(step())
    for node, turn in ((nodes[2], 1), (others[2], -1)):
        node.data_deps = [0, 1][::turn]
        if order == "attributes":
            node.data_deps = []
            node.attributes = node.attributes[::turn]
    (change,) = diff(Trace(nodes), Trace(others)).changed[0].changes
    assert change.field in ("attribute order", "data_deps order")


def test_ids_given_twice_are_paired_in_order() -> None:
    a = Trace([Node(1, "x"), Node(1, "y"), Node(2, "z", data_deps=[1])])
    b = Trace([Node(1, "x"), Node(1, "y", duration_micros=3), Node(2, "z", data_deps=[1])])
    found = diff(a, b)
    assert [(node.record, node.other) for node in found.changed] == [(1, 1)]
    assert found._replace(changed=()).equal


def test_cycles_do_not_hang() -> None:
    def ring(first: int, micros: int) -> Trace:
        names = range(first, first + 5)
        nodes = [Node(id, "n", 4, micros, [first + (id - first + 1) % 5]) for id in names]
        return Trace([*nodes, Node(first + 5, "after", 4, 1, [first])])

    assert len(diff(ring(0, 1), ring(10, 1)).renumbered) == 6
    assert diff(ring(0, 1), ring(10, 1), ["ids"]).equal
    assert len(diff(ring(0, 1), ring(10, 2)).changed) == 5


def test_what_cannot_be_read_is_trouble(tmp_path: Path, capsys: Captured) -> None:
    step().write(tmp_path / "a.et")
    assert main(["chakra", "diff", str(tmp_path / "a.et"), str(tmp_path / "b.et")]) == 2
    assert "no such file" in capsys.readouterr().err


def test_many_alike_nodes_with_new_ids_are_all_found() -> None:
    a = Trace([Node(id, f"n{id % 7}", 4, id % 5, [id // 2] if id else []) for id in range(4000)])
    b = Trace(
        [Node(id + 9, f"n{id % 7}", 4, id % 5, [id // 2 + 9] if id else []) for id in range(4000)]
    )
    found = diff(a, b)
    assert len(found.renumbered) == 4000
    assert found._replace(renumbered=()).equal
