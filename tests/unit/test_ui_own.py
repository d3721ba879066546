"""Models and clusters pasted on the page of `yantra ui`, or given at its start."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from yantra.base import trust
from yantra.base.errors import ConfigError
from yantra.fabric import clusters
from yantra.run.simulate import simulate
from yantra.scenario.on_cluster import on_cluster
from yantra.ui import own
from yantra.ui.controls import Offered, first, names, read
from yantra.ui.worker import Room, answer
from yantra.workloads.models import catalogue
from yantra.workloads.models.transformer import Transformer

LLAMA = {
    "model_type": "llama",
    "hidden_size": 2048,
    "intermediate_size": 5632,
    "num_hidden_layers": 8,
    "num_attention_heads": 16,
    "num_key_value_heads": 4,
    "vocab_size": 32_000,
    "max_position_embeddings": 2048,
}
PLAN = {"tp": 4, "global_batch": 16, "zero": 1, "ranks": 8}


@pytest.fixture(autouse=True)
def _as_a_server() -> Iterator[None]:
    with trust.Command(asks_store=False):
        yield


@pytest.fixture
def room(tmp_path: Path) -> Room:
    return Room(str(tmp_path / "pasted"), Offered())


def ask(room: Room, act: str = "run", **form: str) -> dict[str, Any]:
    found = answer({"act": act, "form": form}, room)
    assert not Path(room.folder).exists()
    return {"status": found["status"]} | found["told"]


def text_of(cluster: str) -> str:
    return own.copied({"control": "cluster", "name": cluster}, Offered())


def changed(cluster: str) -> str:
    reached = clusters.load(cluster).network[0].achievable
    assert reached is not None and reached.written in text_of(cluster)
    return text_of(cluster).replace(reached.written, "1 GB/s")


@pytest.mark.parametrize("stack", ["unknown", "roofline", "megatron-2022"])
def test_a_pasted_cluster_is_the_file_of_the_same_text(
    room: Room, tmp_path: Path, stack: str
) -> None:
    text = changed("hgx-h100")
    (tmp_path / "own-cluster.yaml").write_text(text)
    told = ask(room, cluster="own", own_cluster=text, stack=stack)
    job = {"model": "llama3-8b", "plan": PLAN}
    result = simulate(on_cluster(job, str(tmp_path / "own-cluster.yaml"), stack=stack))
    assert told["makespan_ns"] == result.makespan_ns
    assert told["figures"] == result.figures.as_dict()
    if stack == "roofline":  # others have collectives as measured
        assert told["makespan_ns"] > ask(room, stack=stack)["makespan_ns"]


def test_a_copy_of_a_model_has_its_sizes(tmp_path: Path) -> None:
    seen = 0
    for name in catalogue.names():
        described = catalogue.described(name)
        if isinstance(described, Transformer):
            path = tmp_path / "mine.yaml"
            path.write_text(own.copied({"control": "model", "name": name}, Offered()))
            again = catalogue.described(str(path))
            assert isinstance(again, Transformer)
            assert again.replace(name=name, source=described.source) == described
            seen += 1
    assert seen > 15


def test_a_copy_of_a_model_runs_as_the_model(room: Room) -> None:
    text = own.copied({"control": "model", "name": "llama3-8b"}, Offered())
    copied, named = ask(room, model="own", own_model=text), ask(room)
    assert copied["makespan_ns"] == named["makespan_ns"]
    assert copied["figures"] == named["figures"]


def test_a_pasted_config_is_that_file(room: Room, tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(json.dumps(LLAMA))
    told = ask(room, model="own", own_model=json.dumps(LLAMA, indent=2))
    result = simulate(
        on_cluster({"model": str(tmp_path / "config.json"), "plan": PLAN}, "hgx-h100")
    )
    assert told["makespan_ns"] == result.makespan_ns
    plans = ask(room, "plan", model="own", own_model=json.dumps(LLAMA))["plans"]
    assert plans[0]["time_ns"] <= told["makespan_ns"]


def test_the_report_of_a_pasted_text_names_its_file_alone(room: Room) -> None:
    form = {"model": "own", "own_model": json.dumps(LLAMA)}
    page = answer({"act": "report", "form": form}, room)["told"]
    assert "file: config.json" in page and room.folder not in page


@pytest.mark.parametrize(
    ("form", "control", "said"),
    [
        ({"model": "own"}, "own_model", "own_model: empty; expected sizes by name"),
        ({"cluster": "own", "own_cluster": " "}, "own_cluster", "own_cluster: empty; expected the"),
        ({"cluster": "own", "own_cluster": "title: x"}, "own_cluster", "sources: missing"),
        ({"cluster": "own", "own_cluster": "[1"}, "own_cluster", "line 2, column 1: not YAML"),
        ({"model": "own", "own_model": '{"model_type":'}, "own_model", "line 1, column 15: not"),
        ({"model": "own", "own_model": '{"model_type": "x"}'}, "own_model", "'x' is not among"),
        ({"model": "own", "own_model": "num_layers: 2"}, "own_model", "needs hidden_size"),
        ({"model": "own", "own_model": "layers: 2"}, "own_model", "no size of this name"),
    ],
)
def test_what_is_wrong_with_a_text_is_said_at_its_box(
    room: Room, form: dict[str, str], control: str, said: str
) -> None:
    told = ask(room, **form)
    assert told["status"] == 400 and told["control"] == control
    assert said in told["error"] and room.folder not in told["error"]


def test_a_pasted_text_runs_no_code_and_no_other_control_lets_it(
    room: Room, tmp_path: Path
) -> None:
    code = tmp_path / "evil.py"
    code.write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\n")
    text = text_of("hgx-h100").replace("kind: switch", f"kind: {code}", 1)
    config = json.dumps(LLAMA | {"model_type": str(code)})
    forms = [{"cluster": "own", "own_cluster": text}, {"model": "own", "own_model": config}]
    allowing = [{}, {"price": str(code)}, {"price": f"[{code}]"}, {"more": f"order={code}"}]
    allowing += [{"more": f"schedule={code}"}, {"more": f"pipeline_schedule={code}"}]
    for more in allowing:
        for form in forms:
            told = ask(room, **form, **more)
            assert told["status"] == 400
    assert "runs no code that a file names" in ask(room, **forms[0])["error"]
    assert not (tmp_path / "ran").exists()


def test_files_that_the_server_was_started_with_come_first_and_no_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("config.json").write_text(json.dumps(LLAMA))
    Path("mine.yaml").write_text(changed("hgx-h100"))
    Path("stack.yaml").write_text("title: Mine\nbased_on: megatron-2022\n")
    offered = Offered(("config.json",), ("mine.yaml",), ("stack.yaml",))
    begun = first(offered)
    assert (begun["model"], begun["cluster"], begun["stack"]) == (
        "config.json",
        "mine.yaml",
        "stack.yaml",
    )
    assert all(values[0] in begun.values() for values in names(offered).values())
    told = answer({"act": "run", "form": {}}, Room("", offered))["told"]
    job = {"model": "config.json", "plan": PLAN}
    result = simulate(on_cluster(job, "mine.yaml", stack="stack.yaml"))
    assert told["makespan_ns"] == result.makespan_ns
    for control in ("model", "cluster", "stack"):
        with pytest.raises(ConfigError, match=f"{control}: expected a known name, or a file"):
            read({control: begun[control]})


@pytest.mark.parametrize("name", ["../../etc/passwd", "own", "nosuch", "", "x.yaml"])
def test_nothing_is_copied_but_what_the_page_offers(name: str) -> None:
    for control in ("model", "cluster", "stack", ""):
        with pytest.raises(ConfigError, match="copy: expected a model or a cluster"):
            own.copied({"control": control, "name": name}, Offered())
    for asked in (None, [], {}, {"control": 1}, {"control": "model", "name": {}}):
        with pytest.raises(ConfigError, match="copy: "):
            own.copied(asked, Offered())


def test_a_model_that_is_no_sizes_says_so() -> None:
    with pytest.raises(ConfigError, match="resnet-50 is made of blocks"):
        own.copied({"control": "model", "name": "resnet-50"}, Offered())


def test_every_text_has_a_file_of_its_own(tmp_path: Path) -> None:
    folder = str(tmp_path / "one")
    seen = set()
    for text in ("a: 1", "a: 2", "a: 1"):
        form = first() | {"cluster": "own", "own_cluster": text}
        with own.files(form, folder) as found:
            assert Path(found["cluster"]).read_text() == text
            seen.add(found["cluster"])
    assert len(seen) == 2 and not Path(folder).exists()
    assert tempfile.gettempdir() not in own.without_folder(f"{found['cluster']}: x", folder)
