"""Measures kernels of one GPU with PyTorch in about two minutes, and writes them as lines.

    python microbench.py -o node.csv [--seconds 120]

Needs Python and PyTorch alone, so it can be copied to any machine: `yantra microbench
--write-script` does, and `yantra calibrate node.csv --device NAME` reads what it writes. Kernels
are products of matrices as training has them (forward, both gradients), attention forward and
backward, experts, kernels bound by memory, an empty kernel, and copies to the host.

A time is the median of several rounds of equal kernels one behind the other, so launches are hidden
behind the kernel before; small ones are replayed from a CUDA graph. What cannot be replayed and is
shorter than its launch is left out, and so is what fails. Products run for some seconds before, so
the clock is that of a busy GPU. Trade-off: operands are the same each round, so small ones stay in
the cache.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from statistics import median
from typing import Any, NamedTuple

HEAD = "op,phase,dtype,shape,us"
SECONDS = 120.0
_ROUNDS = 5
_ROUND_SECONDS = 0.012
_MOST_CALLS = 400
_GRAPH_BELOW_US = 60.0
_TINY = 1000  # empty kernels in a graph
_ROOM = 0.6  # of the free memory that a case may take
_WARM_SECONDS = 2.0
_WARM_SIZE = 8192  # of the products that warm up
_HOST_BOUND = 0.8  # of a time: what the host needs to launch it

# (n, k) of weights: of models of 1 to 400 billion parameters, whole and cut by tensor parallelism.
_WEIGHTS = (
    (4096, 4096), (8192, 8192), (28672, 4096), (4096, 14336), (10240, 8192), (57344, 8192),
    (8192, 28672), (1280, 8192), (8192, 1024), (7168, 8192), (8192, 3584), (2048, 2048),
    (6144, 4096), (5120, 13824), (16384, 16384), (128256, 4096),
)  # fmt: skip
# (queries, heads, shared heads, width, width of values)
_HEADS = (
    (4096, 32, 8, 128, 128), (4096, 64, 8, 128, 128), (4096, 8, 1, 128, 128),
    (2048, 16, 16, 64, 64), (8192, 32, 8, 128, 128), (16384, 16, 2, 128, 128),
    (32768, 8, 1, 128, 128), (4096, 16, 16, 192, 128),
)  # fmt: skip
# (experts on the device, rows of each, hidden size, width, experts in all, of a token)
_EXPERTS = (
    (8, 4096, 4096, 1536, 64, 8),
    (32, 1024, 7168, 2048, 256, 8),
    (8, 2048, 4096, 14336, 8, 2),
)


class Case(NamedTuple):
    """A kernel: its class, phase and type, and its sizes as `yantra calibrate` names them."""

    op: str
    phase: str
    dtype: str
    sizes: tuple[tuple[str, int], ...]

    def line(self, us: float) -> str:
        """Return the line of a measured kernel."""
        shape = " ".join(f"{name}={size}" for name, size in self.sizes)
        return f"{self.op},{self.phase},{self.dtype},{shape},{us:.6g}"


def case(op: str, phase: str, dtype: str, **sizes: int) -> Case:
    """Return a kernel."""
    return Case(op, phase, dtype, tuple(sizes.items()))


def cases() -> Iterator[Case]:
    """Yield all kernels, those first that most depends on."""
    yield case("launch", "", "")
    for tokens in (4096, 1024, 16384):
        for n, k in _WEIGHTS:
            yield from products(tokens, n, k, "bf16")
        if tokens == 4096:
            yield from _attentions()
            yield from _bound_by_memory()
            yield from _experts()
            yield case("host_copy", "", "", bytes=1 << 28)
    for n, k in _WEIGHTS:
        yield case("gemm", "forward", "fp8", m=4096, n=n, k=k)
    for tokens in (1, 16, 64, 256):
        for n, k in _WEIGHTS[:6]:
            yield case("gemm", "forward", "bf16", m=tokens, n=n, k=k)
    for dtype in ("fp16", "tf32", "fp32"):
        for n, k in _WEIGHTS[:4]:
            yield case("gemm", "forward", dtype, m=4096, n=n, k=k)


def products(m: int, n: int, k: int, dtype: str) -> Iterator[Case]:
    """Yield the three products of a weight of n x k and m rows: result, and both gradients."""
    yield case("gemm", "forward", dtype, m=m, n=n, k=k)
    yield case("gemm", "dgrad", dtype, m=m, n=k, k=n)
    yield case("gemm", "wgrad", dtype, m=n, n=k, k=m, accumulated=2 * n * k)


def _attentions() -> Iterator[Case]:
    for queries, heads, kv, width, value in _HEADS:
        for phase in ("forward", "dgrad"):
            yield case(
                "attention", phase, "bf16", queries=queries, keys=queries, heads=heads,
                kv_heads=kv, head_dim=width, value_dim=value,
            )  # fmt: skip
    for keys in (1024, 8192):
        yield case(
            "attention", "forward", "bf16", batch=32, queries=1, keys=keys, heads=32, kv_heads=8,
            head_dim=128, value_dim=128,
        )  # fmt: skip


def _bound_by_memory() -> Iterator[Case]:
    for rows in (1024, 8192, 65536):
        yield case("norm", "forward", "bf16", m=rows, bytes=rows * 4096 * 4)
        yield case("softmax", "forward", "bf16", m=rows, bytes=rows * 4096 * 4)
    for size in (1 << 20, 1 << 24, 1 << 28, 1 << 30):
        yield case("residual", "forward", "bf16", bytes=3 * size)
        yield case("copy", "", "bf16", bytes=2 * size)
    yield case("optimizer", "optimizer", "fp32", bytes=7 * 4 * (1 << 27))


def _experts() -> Iterator[Case]:
    for batch, m, hidden, inner, experts, top_k in _EXPERTS:
        layer = {"batch": batch, "inner": inner, "experts": experts, "top_k": top_k}
        yield case("grouped_gemm", "forward", "bf16", m=m, n=2 * inner, k=hidden, **layer)
        yield case("grouped_gemm", "forward", "bf16", m=m, n=hidden, k=inner, **layer)


def cases_of_cpu() -> Iterator[Case]:
    """Yield one of each kind that a CPU ends in a moment, to try the way."""
    for size in (128, 256, 512):
        yield case("gemm", "forward", "fp32", m=64, n=size, k=size)
        yield from products(64, size, size, "bf16")
    for phase in ("forward", "dgrad"):
        yield case(
            "attention", phase, "bf16", queries=64, keys=64, heads=4, kv_heads=2, head_dim=32,
            value_dim=32,
        )  # fmt: skip
    for op in ("norm", "softmax"):
        yield case(op, "forward", "bf16", m=256, bytes=256 * 4096 * 4)
    yield case("residual", "forward", "bf16", bytes=3 << 20)
    yield case("copy", "", "bf16", bytes=2 << 20)
    yield case("optimizer", "optimizer", "fp32", bytes=7 * 4 << 18)
    yield case("host_copy", "", "", bytes=1 << 20)


class Skip(Exception):  # noqa: N818 - it is no error
    """This machine or this PyTorch has no such kernel."""


Call = Callable[[], object]


class Bench:
    """Kernels of a device as calls of PyTorch, and their times."""

    def __init__(self, torch: Any, device: str = "cuda") -> None:
        self.torch = torch
        self.device = device

    def notes(self) -> Iterator[str]:
        """Yield what the times depend on."""
        torch = self.torch
        on_gpu = self.device == "cuda"
        yield torch.cuda.get_device_name() if on_gpu else "CPU"
        yield f"PyTorch {torch.__version__}, CUDA {torch.version.cuda}"
        yield time.strftime("measured on %Y-%m-%d", time.gmtime())
        yield f"one by one the host launches a kernel every {self.host_launch_us():.3g} us"

    def us(self, one: Case) -> float:
        """Return the microseconds of a kernel. Raises Skip where there is none."""
        if one.op == "launch":
            return self._empty()
        make = getattr(self, f"_{one.op}")
        self._check_room(one)
        call = make(one.phase, one.dtype, **dict(one.sizes))
        is_autograd = one.op == "attention" and one.phase == "dgrad"
        return self.time(call, may_replay=not is_autograd and one.op != "host_copy")

    def warm_up(self, seconds: float = _WARM_SECONDS) -> None:
        """Keep the GPU busy until its clock has settled."""
        if self.device != "cuda":
            return
        left, right = (self._random(_WARM_SIZE, _WARM_SIZE) for _ in range(2))
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            for _ in range(10):
                self.torch.mm(left, right)
            self.torch.cuda.synchronize()

    def time(self, call: Call, *, may_replay: bool = True) -> float:
        """Return the median microseconds of a call behind others."""
        for _ in range(3):
            call()
        once = self._round(call, 1)
        count = int(max(3, min(_MOST_CALLS, _ROUND_SECONDS * 1e6 / max(once, 0.1))))
        repeated = self._repeated(call, count)
        on_gpu = self.device == "cuda"
        if is_replayed := may_replay and on_gpu and once < _GRAPH_BELOW_US:
            repeated = self._replayed(repeated)
        found = median(self._round(repeated, 1) / count for _ in range(_ROUNDS))
        if not found > 0.0:
            raise Skip("the clock of the device did not move")
        if on_gpu and not is_replayed:
            launched = self._launching(repeated) / count
            if launched > found * _HOST_BOUND:
                raise Skip(f"the host needs {launched:.3g} us to launch it, it takes {found:.3g}")
        return found

    def _launching(self, call: Call) -> float:
        """Return the microseconds until the host has launched a call."""
        self.torch.cuda.synchronize()
        start = time.perf_counter()
        call()
        took = time.perf_counter() - start
        self.torch.cuda.synchronize()
        return took * 1e6

    def _repeated(self, call: Call, count: int) -> Call:
        def repeated() -> None:
            for _ in range(count):
                call()

        return repeated

    def _replayed(self, call: Call) -> Call:
        """Return a call that replays what another one launches."""
        torch = self.torch
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            call()
        torch.cuda.current_stream().wait_stream(stream)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            call()
        graph.replay()
        replay: Call = graph.replay
        return replay

    def _round(self, call: Call, count: int) -> float:
        """Return microseconds of a number of calls together."""
        if self.device != "cuda":
            start = time.perf_counter()
            for _ in range(count):
                call()
            return (time.perf_counter() - start) * 1e6
        torch = self.torch
        first, last = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        torch.cuda.synchronize()
        first.record()
        for _ in range(count):
            call()
        last.record()
        torch.cuda.synchronize()
        return float(first.elapsed_time(last)) * 1e3

    def _check_room(self, one: Case) -> None:
        if self.device != "cuda":
            return
        sizes = dict(one.sizes)
        m, n, k = (sizes.get(name, 0) for name in "mnk")
        needed = 4 * sizes.get("batch", 1) * (m * k + k * n + m * n) + 2 * sizes.get("bytes", 0)
        self.torch.cuda.empty_cache()  # else what was freed before counts as taken
        free = self.torch.cuda.mem_get_info()[0]
        if needed > free * _ROOM:
            raise Skip("too large for the free memory")

    def _random(self, *shape: int, dtype: str = "bf16") -> Any:
        names = {"bf16": "bfloat16", "fp16": "float16", "tf32": "float32", "fp32": "float32"}
        kind = getattr(self.torch, names[dtype])
        return self.torch.randn(*shape, device=self.device, dtype=kind)

    def _empty(self) -> float:
        if self.device != "cuda":
            raise Skip("a CPU launches nothing")
        tiny = self.torch.zeros(1, device=self.device)
        many = self._replayed(self._repeated(lambda: tiny.add_(1), _TINY))
        return median(self._round(many, 1) / _TINY for _ in range(_ROUNDS))

    def host_launch_us(self) -> float:
        """Return the microseconds between kernels that the host launches one by one."""
        tiny = self.torch.zeros(1, device=self.device)
        many = self._repeated(lambda: tiny.add_(1), _TINY)
        many()
        return median(self._round(many, 1) / _TINY for _ in range(_ROUNDS))

    def _gemm(self, phase: str, dtype: str, m: int, n: int, k: int, accumulated: int = 0) -> Call:
        torch = self.torch
        if dtype == "fp8":
            return self._gemm_fp8(m, n, k)
        torch.backends.cuda.matmul.allow_tf32 = dtype == "tf32"
        left = self._random(m, k, dtype=dtype)
        if phase == "wgrad":
            left = self._random(k, m, dtype=dtype).t()
        right = self._random(n, k, dtype=dtype).t() if phase == "forward" else None
        right = self._random(k, n, dtype=dtype) if right is None else right
        out = torch.empty(m, n, device=self.device, dtype=left.dtype)
        if accumulated:
            out.zero_()
            return lambda: out.addmm_(left, right)
        return lambda: torch.mm(left, right, out=out)

    def _gemm_fp8(self, m: int, n: int, k: int) -> Call:
        torch = self.torch
        if self.device != "cuda" or torch.cuda.get_device_capability() < (8, 9):
            raise Skip("this device has no FP8")
        kind = torch.float8_e4m3fn
        left, right = self._random(m, k).to(kind), self._random(n, k).to(kind).t()
        scale = torch.ones((), device=self.device)
        return lambda: torch._scaled_mm(
            left, right, scale_a=scale, scale_b=scale, out_dtype=torch.bfloat16, use_fast_accum=True
        )

    def _grouped_gemm(
        self, phase: str, dtype: str, m: int, n: int, k: int, batch: int, **_: int
    ) -> Call:
        torch = self.torch
        grouped = getattr(torch, "_grouped_mm", None)
        if grouped is None or self.device != "cuda":
            raise Skip("this PyTorch has no grouped products here")
        rows = self._random(m * batch, k)
        weights = self._random(batch, n, k).transpose(-2, -1)
        ends = torch.arange(1, batch + 1, device=self.device, dtype=torch.int32) * m
        return lambda: grouped(rows, weights, offs=ends)

    def _attention(
        self, phase: str, dtype: str, queries: int, keys: int, heads: int, kv_heads: int,
        head_dim: int, value_dim: int, batch: int = 1,
    ) -> Call:  # fmt: skip
        torch = self.torch
        query = self._random(batch, heads, queries, head_dim)
        key = self._random(batch, kv_heads, keys, head_dim)
        value = self._random(batch, kv_heads, keys, value_dim)
        attend = torch.nn.functional.scaled_dot_product_attention
        options = {"is_causal": queries > 1, "enable_gqa": kv_heads != heads}
        if phase != "dgrad":
            return lambda: attend(query, key, value, **options)
        inputs = [one.requires_grad_() for one in (query, key, value)]
        out = attend(*inputs, **options)
        gradient = torch.randn_like(out)
        return lambda: torch.autograd.grad(out, inputs, gradient, retain_graph=True)

    def _norm(self, phase: str, dtype: str, m: int, bytes: int) -> Call:
        rows = self._random(m, bytes // (4 * m))
        return lambda: self.torch.nn.functional.layer_norm(rows, rows.shape[1:])

    def _softmax(self, phase: str, dtype: str, m: int, bytes: int) -> Call:
        rows = self._random(m, bytes // (4 * m))
        return lambda: self.torch.softmax(rows, -1)

    def _residual(self, phase: str, dtype: str, bytes: int) -> Call:
        one, other = (self._random(bytes // 6) for _ in range(2))
        out = self.torch.empty_like(one)
        return lambda: self.torch.add(one, other, out=out)

    def _copy(self, phase: str, dtype: str, bytes: int) -> Call:
        one = self._random(bytes // 4)
        out = self.torch.empty_like(one)
        return lambda: out.copy_(one)

    def _optimizer(self, phase: str, dtype: str, bytes: int) -> Call:
        torch = self.torch
        weight = torch.nn.Parameter(self._random(bytes // 28, dtype="fp32"))
        weight.grad = self._random(bytes // 28, dtype="fp32")
        adam = torch.optim.AdamW([weight], fused=True, capturable=False)
        step: Call = adam.step
        return step

    def _host_copy(self, phase: str, dtype: str, bytes: int) -> Call:
        if self.device != "cuda":
            raise Skip("a CPU has its memory")
        here = self.torch.empty(bytes, dtype=self.torch.uint8, pin_memory=True)
        there = self.torch.empty(bytes, dtype=self.torch.uint8, device=self.device)
        return lambda: there.copy_(here, non_blocking=True)


def measured(
    bench: Any,
    chosen: Iterable[Case],
    seconds: float = SECONDS,
    clock: Callable[[], float] = time.monotonic,
) -> Iterator[str]:
    """Yield the lines of a file: notes, the head, and kernels until the time is over."""
    end = clock() + seconds
    yield from (f"# {note}" for note in bench.notes())
    yield HEAD
    bench.warm_up()
    late = 0
    for one in chosen:
        if clock() > end:
            late += 1
            continue
        try:
            yield one.line(bench.us(one))
        except Exception as error:  # whatever a PyTorch lacks, the other kernels are measured
            why = str(error).split("\n")[0][:100] or type(error).__name__
            yield f"# without {one.line(0).rpartition(',')[0]}: {why}"
    if late:
        yield f"# {late} more kernels did not fit into {seconds:g} s"


def main(arguments: list[str] | None = None) -> int:
    """Measure the GPU of this machine, and write the file; return the exit status."""
    parser = argparse.ArgumentParser(description="Measure kernels of one GPU with PyTorch.")
    parser.add_argument("-o", "--output", required=True, help="the file to write")
    parser.add_argument("--seconds", type=float, default=SECONDS, help="how long at most")
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda")
    given = parser.parse_args(arguments)
    try:
        import torch
    except ImportError as error:
        print(f"error: PyTorch cannot be imported ({error}); install it", file=sys.stderr)
        return 2
    on_gpu = given.device == "cuda"
    if on_gpu and not torch.cuda.is_available():
        print("error: PyTorch finds no GPU here; --device cpu tries the way", file=sys.stderr)
        return 2
    chosen = cases() if on_gpu else cases_of_cpu()
    lines = list(measured(Bench(torch, given.device), chosen, given.seconds))
    unfinished = f"{given.output}.tmp"
    with open(unfinished, "w", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")
    os.replace(unfinished, given.output)
    kernels = sum(not line.startswith("#") for line in lines) - 1
    print(f"wrote {given.output}: {kernels} {'kernel' if kernels == 1 else 'kernels'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
