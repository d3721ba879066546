"""Laws of `python -m yantra.collect`: whatever a script does, it ends as it would alone."""

from __future__ import annotations

import json
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.torch.conftest import run

pytestmark = pytest.mark.skipif(find_spec("torch") is None, reason="PyTorch is not installed")

HEAD = """
import sys, torch, warnings
warnings.simplefilter("error")
x = torch.ones(4, 4)
weight = torch.nn.Parameter(torch.ones(3))
optimizer = torch.optim.SGD([weight], lr=0.1)
def train(turn, step=None):
    with torch.profiler.record_function(f"turn {turn}"):
        weight.sum().backward()
    (step or optimizer.step)()
"""


def turns(folder: Path) -> list[str]:
    nodes = json.loads((folder / "host.0.json").read_text())["nodes"]
    return sorted(node["name"] for node in nodes if node["name"].startswith("turn"))


def collect(folder: Path, script: str, *options: str, status: int = 0) -> str:
    path = folder / "train.py"
    path.write_text(HEAD + script)
    return run("-m", "yantra.collect", "-o", folder, *options, path, status=status)


SCHEDULED = """
from torch.optim.lr_scheduler import ConstantLR, ExponentialLR, SequentialLR, StepLR
early = StepLR(optimizer, 1)
plain = optimizer.step
for turn in range(4):
    train(turn)
    early.step()
    if turn == 0:
        late = ExponentialLR(optimizer, 0.5)
    late.step()
print("rates", early.last_epoch, late.last_epoch)
"""


def test_a_scheduler_made_before_or_after_the_first_step_changes_nothing(tmp_path: Path) -> None:
    assert "rates 4 4" in collect(tmp_path, SCHEDULED, "--warmup", "2")
    assert turns(tmp_path) == ["turn 2"]


REPLACED = """
for turn in range(4):
    optimizer.step = lambda: torch.optim.SGD.step(optimizer)  # as Accelerate does for each call
    train(turn)
    del optimizer.step
print("left alone", "step" not in vars(optimizer))
"""


def test_a_step_that_is_replaced_for_each_call_still_ends_steps(tmp_path: Path) -> None:
    assert "left alone True" in collect(tmp_path, REPLACED, "--warmup", "2")
    assert len(json.loads((tmp_path / "host.0.json").read_text())["nodes"]) > 3


OTHERS = """
other = torch.optim.Adam([torch.nn.Parameter(torch.ones(2))])
scaler = torch.amp.GradScaler("cpu")
closed = torch.optim.LBFGS([weight], max_iter=2)
def closure():
    closed.zero_grad()
    loss = (weight * weight).sum()
    loss.backward()
    return loss
scaler.scale(weight.sum()).backward()
for turn in range(4):
    train(turn, lambda: scaler.step(optimizer))
    scaler.update()
    other.step()
    closed.step(closure)
"""


def test_steps_of_the_first_optimizer_count_alone_and_under_a_scaler(tmp_path: Path) -> None:
    collect(tmp_path, OTHERS, "--warmup", "2")
    assert turns(tmp_path) == ["turn 2"]


PROFILED = """
import gzip, json
from torch.profiler import ExecutionTraceObserver, profile, schedule
def ready(p):
    p.export_chrome_trace("mine.json.gz")
    print("ready", len(p.events()), repr(p.key_averages().table()))
steps = schedule(wait=1, warmup=1, active=1, repeat=1)
mine = ExecutionTraceObserver().register_callback("observed.json")
with profile(schedule=steps, on_trace_ready=ready, execution_trace_observer=mine) as p:
    for turn in range(4):
        train(turn)
        p.step()
with torch.autograd.profiler.profile() as low:
    x @ x
mine.unregister_callback()
print("empty", json.load(gzip.open("mine.json.gz")), len(low.function_events))
"""


@pytest.mark.parametrize("step", ["optimizer", "whole"])
def test_a_profiler_of_the_script_records_nothing_and_breaks_nothing(
    tmp_path: Path, step: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    more = () if step == "whole" else ("--warmup", "3")
    printed = collect(tmp_path, PROFILED, "--step", step, *more)
    assert "ready 0" in printed
    assert "empty {'traceEvents': []} 0" in printed or step == "optimizer"
    assert printed.count("starts a profiler of its own") == 1
    assert printed.count("starts an execution trace observer of its own") == 1
    assert turns(tmp_path) == (["turn 3"] if more else [f"turn {turn}" for turn in range(4)])
    events = json.loads((tmp_path / "device.0.json").read_text())["traceEvents"]
    assert sum(event["name"].startswith("ProfilerStep#") for event in events) == 1


AFTER = """
for turn in range(3):
    train(turn)
with torch.profiler.profile() as p:
    x @ x
print("seen", any(event.name == "aten::mm" for event in p.events()))
"""


def test_a_profiler_of_the_script_works_after_the_recorded_steps(tmp_path: Path) -> None:
    printed = collect(tmp_path, AFTER)
    assert "seen True" in printed
    assert "warning: yantra" not in printed
    assert turns(tmp_path) == ["turn 1"]


INSIDE = """
import yantra
with torch.profiler.profile():
    try:
        with yantra.collect("."):
            x @ x
    except yantra.base.errors.ConfigError as error:
        print(error)
"""


def test_a_collection_inside_a_running_profiler_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "inside.py"
    path.write_text(HEAD.replace('warnings.simplefilter("error")', "") + INSIDE)
    assert "a profiler of PyTorch is running already" in run(path)


def test_a_script_that_never_steps_is_told_to_record_it_whole(tmp_path: Path) -> None:
    printed = collect(tmp_path, "x @ x", status=2)
    assert "no optimizer stepped" in printed
    assert "--step whole" in printed
    collect(tmp_path, "x @ x", "--step", "whole")
    assert (tmp_path / "host.0.json").exists()


def test_too_few_steps_are_counted_for_the_user(tmp_path: Path) -> None:
    printed = collect(tmp_path, "train(0)", status=2)
    assert "got 1; the first optimizer stepped so often" in printed
