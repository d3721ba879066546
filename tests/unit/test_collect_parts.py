"""The parts of collecting that need no PyTorch."""

from __future__ import annotations

import json
import subprocess
import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import yantra
from yantra.base.errors import ConfigError
from yantra.base.pytorch import torch_for
from yantra.tracing.collect.messages import OPERATORS, arguments, message
from yantra.tracing.collect.notes import COMM, WAIT, facts_of, mend, name_of

FACTS = st.dictionaries(
    st.text("abcdefgh_", min_size=1),
    st.none() | st.booleans() | st.integers() | st.text(max_size=9) | st.lists(st.integers()),
    max_size=4,
)


def plain(text: str) -> str:
    return "".join(c if 32 <= ord(c) < 127 and c not in "'\"\\" else "_" for c in text)


@settings(suppress_health_check=[HealthCheck.too_slow])  # the first draw imports torch
@given(st.sampled_from([COMM, WAIT]), FACTS)
def test_an_annotation_survives_the_observer_and_reads_back(kind: str, facts: Any) -> None:
    name = name_of(kind, facts)
    assert '"' not in name
    assert "\\" not in name
    file = f'{{"name": "{name}", "other": "it\'s"}}'.encode()  # as the observer writes it
    written = json.loads(mend(file))
    assert written["other"] == "it's"
    safe = {k: plain(v) if isinstance(v, str) else v for k, v in facts.items()}
    assert facts_of(written["name"], kind) == facts_of(name, kind) == safe
    assert facts_of(name, COMM if kind == WAIT else WAIT) is None


@given(st.binary(max_size=60) | st.text(max_size=40).map(str.encode))
def test_mending_changes_annotations_only(data: bytes) -> None:
    if b"chakra::" not in data:
        assert mend(data) == data


def tensor(numel: int, dtype: str = "float32", bytes: int = 4) -> Any:
    return SimpleNamespace(
        numel=lambda: numel, element_size=lambda: bytes, dtype=f"torch.{dtype}"
    )  # fmt: skip


def schema(*names: str) -> Any:
    def argument(name: str) -> Any:
        default = {"async_op": True, "timeout": -1}.get(name)
        return SimpleNamespace(
            name=name, default_value=default, has_default_value=lambda: default is not None
        )

    return SimpleNamespace(arguments=[argument(name) for name in names])


@pytest.mark.parametrize(
    ("operator", "given", "expected"),
    [
        ("allreduce_", {"tensors": [tensor(8)]}, ("all_reduce", 32, None, None)),
        ("_allgather_base_", {"input_tensor": tensor(8)}, ("all_gather", 32, None, None)),
        ("allgather_", {"input_tensors": [tensor(8)]}, ("all_gather", 32, None, None)),
        ("reduce_scatter_", {"input_tensors": [[tensor(2)] * 4]},
         ("reduce_scatter", 32, None, None)),
        ("alltoall_", {"input_tensors": [tensor(2)] * 4}, ("all_to_all", 32, None, None)),
        ("broadcast_", {"tensors": [tensor(8)], "root_rank": 3}, ("broadcast", 32, 3, None)),
        ("gather_", {"input_tensors": [tensor(8)], "root_rank": 1}, ("gather", 32, 1, None)),
        ("scatter_", {"output_tensors": [tensor(2)], "root_rank": 0}, ("scatter", 32, 0, None)),
        ("barrier", {"tensor": tensor(1)}, ("barrier", 0, None, None)),
        ("send", {"tensors": [tensor(8)], "dst": 2, "tag": 7}, ("send", 32, 2, 7)),
        ("recv_any_source_", {"tensors": [tensor(8)], "tag": 7}, ("recv", 32, None, 7)),
    ],
)  # fmt: skip
def test_sizes_are_those_of_astra_sim(operator: str, given: Any, expected: Any) -> None:
    found = message(operator, given, group_size=4)
    assert (found.op, found.bytes, found.peer, found.tag) == expected
    assert found.dtype == ("" if found.op == "barrier" else "float32")


def test_arguments_left_out_have_the_defaults_of_the_schema() -> None:
    named = arguments(schema("tensors", "async_op", "timeout"), [[tensor(1)], False])
    assert (named["async_op"], named["timeout"]) == (False, -1)
    assert message("allreduce_", named, 2).asynchronous is False
    assert message("send", {"tensors": [tensor(1)], "dst": 1, "tag": 0}, 2).asynchronous


def test_every_operator_names_a_collective() -> None:
    assert {op for op, _ in OPERATORS.values()} == {
        "all_reduce", "all_gather", "reduce_scatter", "all_to_all", "broadcast", "reduce",
        "gather", "scatter", "barrier", "send", "recv",
    }  # fmt: skip


def test_a_missing_pytorch_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(ConfigError) as caught, yantra.collect(tmp_path):
        pass
    assert str(caught.value) == (
        "yantra.collect: needs PyTorch 2.5 or newer, which cannot be imported (import of torch "
        "halted; None in sys.modules); pip install 'torch>=2.5' installs it"
    )


def test_an_old_pytorch_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    old = ModuleType("torch")
    old.__version__ = "2.4.1+cu121"  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "torch", old)
    with pytest.raises(ConfigError, match=r"needs PyTorch 2\.5 or newer, found 2\.4\.1\+cu"):
        torch_for("yantra.tracing.replay")
    old.__version__ = "2.13.0+cpu"  # type: ignore[attr-defined]
    assert torch_for("yantra.tracing.replay") is old


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"warmup": -1}, "yantra.collect(warmup=): expected an integer >= 0, got -1"),
        ({"active": 0}, "yantra.collect(active=): expected an integer >= 1, got 0"),
        ({"active": True}, "yantra.collect(active=): expected an integer >= 1, got true"),
        ({"active": "1"}, 'yantra.collect(active=): expected an integer >= 1, got "1"'),
    ],
)
def test_options_out_of_range_are_told(options: Any, text: str) -> None:
    with pytest.raises(ConfigError) as caught:
        yantra.collect("traces", **options)
    assert str(caught.value) == text


def test_a_step_without_a_collection_is_nothing() -> None:
    from yantra.tracing.collect import step

    step()


@pytest.mark.parametrize("code", ["import yantra.collect", "import yantra.tracing.replay"])
def test_nothing_imports_pytorch_before_it_is_used(code: str) -> None:
    check = f"{code}; import sys; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", check], check=False).returncode == 0
