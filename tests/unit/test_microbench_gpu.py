"""The microbenchmarks on a faked GPU; what the script takes of `torch.cuda` must exist under that
name.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from yantra.accuracy import microbench_script as script
from yantra.compute.profiles.rows import read

real: Any = pytest.importorskip("torch")
TorchDispatchMode: Any = pytest.importorskip("torch.utils._python_dispatch").TorchDispatchMode


class Gpu:
    def __init__(self) -> None:
        self.us = 0.0
        self.captured: list[float] | None = None
        self.on_side_stream = False
        self.side_ran = False
        self.synchronized = True
        self.captures = 0

    def spend(self, us: float) -> None:
        self.side_ran |= self.on_side_stream
        if self.captured is None:
            self.us += us
            self.synchronized = False
        else:
            self.captured.append(us)

    def synchronize(self) -> None:
        assert self.captured is None, "a capture must not synchronize"
        self.synchronized = True


class Event:
    def __init__(self, gpu: Gpu, *, enable_timing: bool = False) -> None:
        assert enable_timing
        self.gpu = gpu

    def record(self) -> None:
        assert self.gpu.captured is None
        self.at = self.gpu.us

    def elapsed_time(self, last: Event) -> float:
        assert self.gpu.synchronized, "events are read before they have come"
        return (last.at - self.at) / 1e3


class Graph:
    def __init__(self, gpu: Gpu) -> None:
        self.gpu = gpu
        self.kernels: list[float] = []

    def replay(self) -> None:
        for us in self.kernels:
            self.gpu.spend(us)


def cuda_of(gpu: Gpu) -> dict[str, Any]:
    """Return what replaces the names of `torch.cuda`."""

    @contextmanager
    def graph(made: Graph) -> Iterator[None]:
        assert gpu.side_ran, "what is captured has to run on another stream before"
        gpu.synchronize()
        gpu.captured = made.kernels
        gpu.captures += 1
        yield
        gpu.captured, gpu.side_ran = None, False

    @contextmanager
    def stream(_: object) -> Iterator[None]:
        gpu.on_side_stream = True
        yield
        gpu.on_side_stream = False

    waiting = types.SimpleNamespace(wait_stream=lambda other: None)
    return {
        "Event": lambda **options: Event(gpu, **options),
        "CUDAGraph": lambda: Graph(gpu),
        "graph": graph,
        "stream": stream,
        "Stream": lambda: waiting,
        "current_stream": lambda: waiting,
        "synchronize": gpu.synchronize,
        "empty_cache": lambda: None,
        "mem_get_info": lambda: (80 << 30, 80 << 30),
        "get_device_capability": lambda: (9, 0),
        "get_device_name": lambda: "a GPU",
    }


class Torch:
    """PyTorch whose device `cuda` is the CPU."""

    def __init__(self, gpu: Gpu, here: Any = real, cuda: dict[str, Any] | None = None) -> None:
        self.gpu, self.here, self.cuda_names = gpu, here, cuda

    def __getattr__(self, name: str) -> Any:
        there = getattr(self.here, name)  # fails where PyTorch has no such name
        if self.cuda_names is not None:
            return self.cuda_names[name]
        if there is real.cuda:
            return Torch(self.gpu, there, cuda_of(self.gpu))
        if isinstance(there, types.ModuleType) and there is not real.backends:
            return Torch(self.gpu, there)
        is_kind = isinstance(there, (type, real.dtype)) or not callable(there)
        return there if is_kind else on_cpu(there)


def on_cpu(call: Callable[..., Any]) -> Callable[..., Any]:
    def called(*given: Any, **options: Any) -> Any:
        if "device" in options:
            assert options["device"] == "cuda"
            options["device"] = "cpu"
        options.pop("pin_memory", None)
        return call(*given, **options)

    return called


class Launching(TorchDispatchMode):
    def __init__(self, gpu: Gpu) -> None:
        super().__init__()
        self.gpu = gpu

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.gpu.spend(1.0)
        return func(*args, **(kwargs or {}))


@pytest.mark.parametrize("us", [1.0, 7.0, 59.0, 61.0, 5000.0])
def test_a_kernel_takes_what_the_clock_of_the_gpu_says(us: float) -> None:
    gpu = Gpu()
    bench = script.Bench(Torch(gpu))
    assert bench.time(lambda: gpu.spend(us)) == pytest.approx(us)
    assert gpu.captures == (us < 60)


def test_what_cannot_be_replayed_and_is_shorter_than_its_launch_is_left_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    gpu = Gpu()
    bench = script.Bench(Torch(gpu))
    host = iter(range(10**6))
    monkeypatch.setattr(script.time, "perf_counter", lambda: next(host) * 400 * 50e-6)
    with pytest.raises(script.Skip, match="the host needs 50 us to launch it, it takes 30"):
        bench.time(lambda: gpu.spend(30.0), may_replay=False)
    monkeypatch.setattr(script.time, "perf_counter", lambda: next(host) * 40 * 50e-6)
    assert bench.time(lambda: gpu.spend(300.0), may_replay=False) == pytest.approx(300.0)
    assert gpu.captures == 0


SMALL = (
    script.case("launch", "", ""),
    *script.products(16, 32, 48, "bf16"),
    script.case("gemm", "forward", "tf32", m=8, n=16, k=32),
    script.case("gemm", "forward", "fp8", m=16, n=16, k=16),
    script.case(
        "attention", "forward", "bf16", queries=16, keys=16, heads=4, kv_heads=2, head_dim=8,
        value_dim=8,
    ),
    script.case(
        "attention", "dgrad", "bf16", queries=16, keys=16, heads=4, kv_heads=2, head_dim=8,
        value_dim=8,
    ),
    script.case("norm", "forward", "bf16", m=4, bytes=4 * 4 * 32),
    script.case("softmax", "forward", "bf16", m=4, bytes=4 * 4 * 32),
    script.case("residual", "forward", "bf16", bytes=6 * 64),
    script.case("copy", "", "bf16", bytes=4 * 64),
    script.case("optimizer", "optimizer", "fp32", bytes=28 * 16),
    script.case("host_copy", "", "", bytes=1024),
    script.case(
        "grouped_gemm", "forward", "bf16", m=16, n=32, k=64, batch=2, inner=32, experts=4, top_k=2
    ),
)  # fmt: skip


def test_every_kernel_uses_names_that_pytorch_has_and_gives_a_line_that_is_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(script, "_HOST_BOUND", float("inf"))  # here the CPU does the work
    monkeypatch.setattr(script, "_WARM_SIZE", 8)
    monkeypatch.setattr(script, "_WARM_SECONDS", 0.0)
    monkeypatch.setattr(script, "_MOST_CALLS", 3)
    gpu = Gpu()
    with Launching(gpu):
        found = list(script.measured(script.Bench(Torch(gpu)), SMALL, clock=lambda: 0.0))
    without = [line for line in found if line.startswith("# without")]
    assert [line for line in without if ",fp8," not in line and "grouped" not in line] == []
    assert not any("has no attribute" in line for line in without)
    assert found[0] == "# a GPU"
    rows = read("\n".join(found), "node.csv")
    assert len(rows.kernels) == len(SMALL) - 2 - len(without)  # launch and host_copy are none
    assert rows.launch_us == 1.0


def test_the_gpu_is_busy_before_the_first_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(script, "_WARM_SIZE", 8)
    gpu = Gpu()
    with Launching(gpu):
        script.Bench(Torch(gpu)).warm_up(0.01)
    assert gpu.us > 10 and gpu.synchronized
