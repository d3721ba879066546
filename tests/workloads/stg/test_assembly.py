"""Assemblies of a user's sheets: links, copies, sums, and every mistake in the file."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml

from yantra.base.errors import ConfigError
from yantra.workloads.importers.stg import Settings, from_stg
from yantra.workloads.templates import Workload

TINY = Path(__file__).parent / "tiny"


def made(folder: Path, **changes: Any) -> Workload:
    shutil.copytree(TINY, folder, dirs_exist_ok=True)
    tree = yaml.safe_load((TINY / "model.yaml").read_text()) | changes
    path = folder / "model.yaml"
    path.write_text(
        yaml.safe_dump({key: value for key, value in tree.items() if value is not None})
    )
    settings = Settings(dp=2, tp=2, num_stacks=2, batch=8, units="stg")
    return from_stg(settings, assembly=str(path))


def names(workload: Workload) -> list[str]:
    return sorted(node.name for node in workload.template("stage0"))


def test_layers_are_chained(tmp_path: Path) -> None:
    found = names(made(tmp_path))
    assert "mb0.layer.1.dense.part" in found
    by_name = {node.name: node for node in made(tmp_path).template("stage0")}
    next_ = by_name["mb0.layer.1.dense.part"]
    assert next_.data_deps == [by_name["mb0.layer.0.dense.y"].id]


def test_json_says_the_same_as_yaml(tmp_path: Path) -> None:
    import json

    shutil.copytree(TINY, tmp_path, dirs_exist_ok=True)
    tree = yaml.safe_load((TINY / "model.yaml").read_text())
    (tmp_path / "model.json").write_text(json.dumps(tree))
    settings = Settings(dp=2, tp=2, num_stacks=2, batch=8, units="stg")
    ours = from_stg(settings, assembly=str(tmp_path / "model.json"))
    assert names(ours) == names(made(tmp_path))


def test_copies_get_the_same_and_are_added_up(tmp_path: Path) -> None:
    layer = {
        "parts": {"in": "pass", "branch*": {"sheet": "dense", "copies": "Branches"}, "out": "pass"},
        "links": [
            "in.y -> branch*.x",
            "branch*.y -> out.x",
            "out.dx -> branch*.dy",
            "branch*.dx -> in.dy",
        ],
    }
    links = [
        "previous.out.y -> next.in.x",
        "next.in.dx -> previous.out.dy",
        "last.out.y -> loss.y",
        "loss.dy -> last.out.dy",
    ]
    rows = [
        "id,require_grads,x1,x2,op_type,op_attr,x1_shape,x1_hidden,x2_shape,x2_hidden,grad_of",
        'x,N,,,T,,"Batch/dp, Width",1,,,',
        'y,N,x,,E,1,"Batch/dp, Width",1,,,',
        'dy,N,,,T,,"Batch/dp, Width",1,,,y',
        'dx,N,dy,,I,,"Batch/dp, Width",1,,,x',
    ]
    (tmp_path / "pass.csv").write_text("\n".join(rows))
    about = '{"symbols": ["Batch", "Width", "dp"], "in_tensors": ["x"], "out_tensors": ["y"]}'
    (tmp_path / "pass.json").write_text(about)
    symbols = {"Width": 16, "Branches": 2}
    workload = made(tmp_path, layer=layer, links=links, symbols=symbols)
    by_name = {node.name: node for node in workload.template("stage0")}
    parts = [by_name[f"mb0.layer.0.branch{n}.part"] for n in range(2)]
    assert parts[0].data_deps == parts[1].data_deps == [by_name["mb0.layer.0.in.y"].id]
    total = by_name["mb0.layer.0.out.x_sum1"]
    ends = [by_name[f"mb0.layer.0.branch{n}.y"].id for n in range(2)]
    assert total.data_deps == ends
    assert by_name["mb0.layer.0.out.y"].data_deps == [total.id]


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"layers": {}}, "model.yaml: layers: unknown key; did you mean 'layer'"),
        ({"layer": None}, "model.yaml: layer: missing"),
        ({"symbols": {"Width": "wide"}}, "symbols.Width: expected a whole number"),
        ({"tail": {"loss": {}}}, "tail.loss: expected either a sheet or parts"),
        ({"tail": {"loss": "lost"}}, "expected the table lost.csv; did you mean 'loss'"),
        ({"links": ["a b"]}, r"links\[0\]: expected a link such as a.y -> b.x"),
        ({"links": {}}, "links: expected a list"),
        ({"links": ["loss.y -> loss.y"]}, "loss.y.*waits for itself|links make a circle"),
        ({"links": ["last.dense.z -> loss.y"]}, "no tensor is named 'layer.1.dense.z'"),
        ({"links": ["loss.y -> last.dense.y"]}, "layer.1.dense.y: expected a placeholder"),
        ({"links": ["loss.y -> last.dense.w"]}, "layer.1.dense.w: expected a placeholder"),
        ({"trains": "no"}, "trains: expected true or false"),
        ({"layer": {"parts": {"a*": "dense"}}}, "no tensor is named"),
        (
            {"layer": {"parts": {"a": {"sheet": "dense", "copies": 2}}}},
            r"layer.parts.a: expected a \* in the name",
        ),
        (
            {"layer": {"parts": {"a*": {"sheet": "dense", "copies": "Width/3"}}}},
            r"a\*, copies: expected a whole number of copies, 1 to 1024; Width/3 is 16/3",
        ),
        (
            {"layer": {"parts": {"a": {"sheet": "dense", "symbols": {"Width": "2*"}}}}},
            "layer.parts.a.symbols.Width: expected an expression",
        ),
        ({"layer": {"parts": {"dense": "dense"}, "sums": {"dense.dy": ["dense.y"]}}}, "two tens"),
    ],
)
def test_a_mistake_in_the_assembly_is_told(
    changes: dict[str, Any], problem: str, tmp_path: Path
) -> None:
    with pytest.raises(ConfigError, match=problem):
        made(tmp_path, **changes)
