"""The figures that a run is quoted by: tokens per second, MFU, memory headroom, bubble, cost.

* MFU: model FLOPs / (time x devices x peak), without recomputation and causally masked pairs
  (Chowdhery et al., "PaLM", 2022, appendix B). HFU: all matrix products that run (Korthikanti et
  al., "Reducing activation recomputation", MLSys 2023).
* The peak is the data sheet's dense rate of the dtype; of an unnamed cluster, the scenario's.
* TTFT, time to first token, is a prefill of all prompts. TPOT, time per output token, is one more
  iteration of a decode: (T(n) - T(k)) / (n - k) for times T of n and k iterations
  (`yantra.run.steady`); filling and draining the pipeline is separate, not in tokens/s, MFU and a
  token's cost.
* A pipeline's bubble is the mean share of a step without kernel, memory operation or collective of
  the device's own stage: (p - 1) / (m + p - 1) for equal stages (Huang et al., "GPipe", 2019).
* Headroom is a device's memory less the peak of the rank that needs most.
* Energy is that of the devices over the run (`yantra.result.energy`), times a stated PUE.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from itertools import compress
from typing import Any, NamedTuple

from yantra import _core
from yantra.base.text import format_bytes, room_text
from yantra.base.units import exact, format_time
from yantra.compile import Model
from yantra.compile.templates import TemplateGraphs
from yantra.result.bound import union_length
from yantra.result.carried import carried_of
from yantra.result.tables import NEVER, NODE_TYPES, nanoseconds
from yantra.result.what_ran import about_of, plan_of, whole
from yantra.scenario.types import Machine
from yantra.workloads.templates.room import in_communicators

_NS_PER_H = 3.6e12
_POINT = 0.01
_NOT_WORK = frozenset(map(NODE_TYPES.index, ("INVALID", "METADATA", "COMM_SEND", "COMM_RECV")))
_COLLECTIVE = NODE_TYPES.index("COMM_COLL")


class Interval(NamedTuple):
    """Shares of a run's time that hold in 90 of 100 cases, and what that rests on.

    `away` is how far the nearest measured step is: a standard deviation of a logarithm.
    """

    low: float
    high: float
    rests_on: str
    away: float | None = None


class Figures(NamedTuple):
    """The figures; None where the workload or the cluster does not state what they need.

    `carried`: recorded kernels on another GPU, by class; `not_there`: their libraries it lacks.
    `tokens` are of training's steps (`steps`, None for one), a prefill's prompts, or a decode's
    sequences. `fill_drain_ns` is a decode's time beyond `tpot_ns` an iteration; `iteration_ns` the
    mean with it, if inseparable.
    """

    step_time_ns: float | None = None
    steps: int | None = None
    ttft_ns: float | None = None
    tpot_ns: float | None = None
    iteration_ns: float | None = None
    fill_drain_ns: float | None = None
    tokens: int | None = None
    tokens_per_s: float | None = None
    tokens_per_s_per_device: float | None = None
    mfu: float | None = None
    hfu: float | None = None
    model_flops: int | None = None
    hardware_flops: int | None = None
    peak_flops: float | None = None
    peak_dtype: str | None = None
    memory_bytes: int | None = None
    memory_need_bytes: int | None = None
    memory_headroom_bytes: int | None = None
    kv_cache_bytes: int | None = None
    kv_cache_use: float | None = None
    bubble: float | None = None
    cost_usd: float | None = None
    usd_per_million_tokens: float | None = None
    price_usd_per_h: float | None = None
    usd_per_mfu_point: float | None = None
    energy_kwh: float | None = None
    joules_per_token: float | None = None
    kwh_per_million_tokens: float | None = None
    power_w: float | None = None
    mean_power_w: float | None = None
    time_low_ns: float | None = None
    time_high_ns: float | None = None
    away: float | None = None
    rests_on: str | None = None
    carried: list[dict[str, Any]] | None = None
    not_there: list[str] | None = None

    def within(self, interval: Interval, run_ns: float | None = None) -> Figures:
        """The figures with the 90 % interval of the time, from which others' follow.

        `run_ns`: of a recording carried to another GPU, whose time is that of the run.
        """
        time = _time_of(self) or (run_ns if self.carried else None)
        if time is None:
            return self._replace(rests_on=interval.rests_on)
        low, high = time * interval.low, time * interval.high
        told = self._replace(time_low_ns=low, time_high_ns=high, rests_on=interval.rests_on)
        return told._replace(away=interval.away)

    def resting_on(self, basis: str, *, has_terms: bool) -> Figures:
        """The figures with what a time without an interval rests on."""
        is_told = has_terms or _time_of(self) is not None
        return self._replace(rests_on=basis) if is_told else self

    def as_dict(self) -> dict[str, Any]:
        return {name: value for name, value in self._asdict().items() if value is not None}

    def lines(self) -> list[tuple[str, str]]:
        return list(_lines(self))


def figures(model: Model, outcome: _core.Outcome, steady_ns: float | None = None) -> Figures:
    """A run's figures; `steady_ns` is one more iteration of a decode."""
    time_ns = nanoseconds(max(outcome.finish), model.ticks_per_ns) or 0
    about, machine = about_of(model), model.scenario.machine
    found: dict[str, Any] = _memory(model, about, machine)
    if time_ns:
        times = _times(about, time_ns, steady_ns)
        going_ns = time_ns - times.get("fill_drain_ns", 0.0)
        found |= times | utilisation(model, about, going_ns)
        found |= _cost(machine, model.ranks, time_ns, going_ns, times.get("tokens"))
        if "mfu" in found and "usd_per_million_tokens" in found:
            saved = _POINT / (found["mfu"] + _POINT)
            found["usd_per_mfu_point"] = found["usd_per_million_tokens"] * saved
        found |= _energy(model, outcome, time_ns, going_ns / time_ns, times.get("tokens"))
        if "tokens" in times:
            found["tokens_per_s_per_device"] = times["tokens_per_s"] / model.ranks
        if (whole(plan_of(about), "pp") or 1) > 1 and about.get("kind") == "training":
            found["bubble"] = _bubble(model, outcome)
    return Figures(**found, **carried_of(model))


def _times(about: Mapping[str, Any], time_ns: float, steady_ns: float | None) -> dict[str, Any]:
    if about.get("kind") == "training":
        plan, sequence = plan_of(about), whole(about, "sequence")
        batch, steps = whole(plan, "global_batch"), whole(plan, "steps") or 1
        told = {"step_time_ns": time_ns / steps} | ({"steps": steps} if steps > 1 else {})
        return told | _rate(batch and sequence and batch * sequence * steps, time_ns)
    phase, iterations = about.get("phase"), whole(about, "iterations")
    emitted = whole(about, "emitted_tokens")
    if phase == "prefill":
        first = {"ttft_ns": time_ns} if emitted and emitted == whole(about, "batch") else {}
        return first | _rate(whole(about, "tokens"), time_ns)
    if phase not in ("decode", "mixed") or not iterations:
        return {}
    if steady_ns:
        going_ns = iterations * steady_ns
        told = {"tpot_ns": steady_ns, "fill_drain_ns": time_ns - going_ns}
        return told | _rate(emitted, going_ns)
    has_pipeline = (whole(plan_of(about), "pp") or 1) > 1
    name = "iteration_ns" if has_pipeline else "tpot_ns"
    return {name: time_ns / iterations} | _rate(emitted, time_ns)


def _rate(tokens: int | None, time_ns: float) -> dict[str, Any]:
    return {"tokens": tokens, "tokens_per_s": tokens / time_ns * 1e9} if tokens else {}


def utilisation(model: Model, about: Mapping[str, Any], time_ns: float) -> dict[str, Any]:
    """`mfu`, `hfu` and peak; empty if ranks have their own devices."""
    scenario = model.scenario
    peak = scenario.machine.peak_flops or scenario.device.peak_flops
    needed, done = (whole(about, name) for name in ("model_flops", "hardware_flops"))
    if not peak or not needed or not done or scenario.devices:
        return {}
    could = peak * model.ranks * time_ns / 1e9
    told = {"peak_dtype": scenario.machine.dtype} if scenario.machine.dtype else {}
    shares = {"mfu": needed / could, "hfu": done / could, "peak_flops": peak}
    return shares | {"model_flops": needed, "hardware_flops": done} | told


def _memory(model: Model, about: Mapping[str, Any], machine: Machine) -> dict[str, Any]:
    graphs = model.graphs
    peaks = graphs.workload.peaks() if isinstance(graphs, TemplateGraphs) else {}
    if not peaks or not isinstance(graphs, TemplateGraphs):
        return {}
    worst = max(peaks, key=lambda name: peaks[name])
    found: dict[str, Any] = {"memory_need_bytes": peaks[worst]}
    if machine.memory_bytes:
        found["memory_bytes"] = machine.memory_bytes
        kept = machine.reserve_bytes or 0
        kept += in_communicators(graphs.workload, worst, machine.communicator_bytes)
        found["memory_headroom_bytes"] = machine.memory_bytes - kept - peaks[worst]
    parts = [graphs.workload.memory[name] for name in peaks]
    return found | _cache(parts, plan_of(about), machine)


def _cache(
    parts: list[Mapping[str, Any]], plan: Mapping[str, Any], machine: Machine
) -> dict[str, Any]:
    caches = [part for part in parts if whole(part, "cache")]
    if not caches:
        return {}
    found: dict[str, Any] = {"kv_cache_bytes": max(part["cache"] for part in caches)}
    share = plan.get("gpu_memory_utilization")
    capacity = machine.memory_bytes
    if capacity and isinstance(share, float):
        usable = min(int(capacity * share), capacity - (machine.reserve_bytes or 0))
        rooms = [usable - (part["peak"] - part["cache"]) for part in caches]
        if all(room > 0 for room in rooms):
            pairs = zip(caches, rooms, strict=True)
            found["kv_cache_use"] = max(part["cache"] / room for part, room in pairs)
    return found


def _cost(
    machine: Machine, devices: int, time_ns: float, going_ns: float, tokens: int | None
) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if machine.price_usd_per_h:
        each_ns = machine.price_usd_per_h * devices / _NS_PER_H
        found |= {"cost_usd": each_ns * time_ns, "price_usd_per_h": machine.price_usd_per_h}
        if tokens:
            found["usd_per_million_tokens"] = each_ns * going_ns / tokens * 1e6
    return found


def _energy(
    model: Model, outcome: _core.Outcome, time_ns: float, going: float, tokens: int | None
) -> dict[str, Any]:
    machine = model.scenario.machine
    if not machine.power_w:
        return {}
    from yantra.result.energy import J_PER_KWH, device_joules

    own = device_joules(model, outcome) or 0.0
    joules = own * (machine.pue or 1.0)
    found: dict[str, Any] = {"energy_kwh": joules / J_PER_KWH, "power_w": machine.power_w}
    found["mean_power_w"] = own / (model.ranks * time_ns / 1e9)
    if tokens:
        each = joules * going / tokens
        found |= {"joules_per_token": each, "kwh_per_million_tokens": each / J_PER_KWH * 1e6}
    return found


def _bubble(model: Model, outcome: _core.Outcome) -> float | None:
    graphs = model.graphs
    if not isinstance(graphs, TemplateGraphs):
        return None
    across = {name for name, group in graphs.workload.groups.items() if "pp" in group.axes}
    works = [_works(graph, across) for graph in graphs.distinct]
    count = Counter(zip(graphs.by_rank, outcome.first_node, strict=False))
    busy = sum(ranks * _busy(outcome, first, works[at]) for (at, first), ranks in count.items())
    return 1 - busy / (sum(count.values()) * max(outcome.finish))


def _works(graph: _core.Graph, across: set[str]) -> list[bool]:
    outside = {at for at, name in enumerate(graph.pg_names) if name in across}
    return [
        node_type not in _NOT_WORK and not (node_type == _COLLECTIVE and group in outside)
        for node_type, group in zip(graph.type, graph.pg_name, strict=True)
    ]


def _busy(outcome: _core.Outcome, first: int, works: list[bool]) -> int:
    part = slice(first, first + len(works))
    nodes = zip(outcome.start[part], outcome.end[part], strict=True)
    return union_length([times for times in compress(nodes, works) if times[1] != NEVER])


def _lines(of: Figures) -> Iterator[tuple[str, str]]:
    for name, time in (
        ("step time", of.step_time_ns),
        ("time to first token", of.ttft_ns),
        ("time per output token", of.tpot_ns),
    ):
        if time is not None:
            mean = f", the mean of {of.steps} steps" if of.steps else ""
            within = _interval_text(of.time_low_ns, of.time_high_ns)
            yield name, format_time(time) + within + mean
    if of.fill_drain_ns is not None:
        yield "fill and drain", f"{format_time(of.fill_drain_ns)} of the run, in none of the rates"
    if of.iteration_ns is not None:
        within = _interval_text(of.time_low_ns, of.time_high_ns)
        told = f"{format_time(of.iteration_ns)}{within}, with filling and draining the pipeline"
        yield "time per iteration", told
    if of.tokens_per_s is not None and of.tokens_per_s_per_device is not None:
        per_device = f"({count_text(of.tokens_per_s_per_device)} per device)"
        rate = of.tokens_per_s
        yield "tokens/s", f"{count_text(rate)} {per_device}{_rates_text(of, rate, count_text)}"
    if of.mfu is not None and of.hfu is not None and of.peak_flops is not None:
        peak = f"{exact(of.peak_flops, 'FLOP/s')} {of.peak_dtype or ''}".rstrip()
        within = _rates_text(of, of.mfu, share_text, "MFU ")
        yield "MFU, HFU", f"{share_text(of.mfu)}, {share_text(of.hfu)} of {peak}{within}"
    if of.memory_need_bytes is not None:
        yield "memory", _memory_text(of)
    if of.kv_cache_bytes is not None:
        used = "" if of.kv_cache_use is None else f", {share_text(of.kv_cache_use)} of its room"
        yield "KV cache", f"{format_bytes(of.kv_cache_bytes)}{used}"
    if of.bubble is not None:
        yield "pipeline bubble", share_text(of.bubble)
    if of.cost_usd is not None:
        each = of.usd_per_million_tokens
        more = "" if each is None else f", {each:.4g} USD per million tokens{_per_text(of, each)}"
        point = of.usd_per_mfu_point
        saved = "" if point is None else f"; a point of MFU saves {point:.3g}"
        yield "cost", f"{of.cost_usd:.4g} USD{more} at {of.price_usd_per_h:g} USD/h{saved}"
    elif of.tokens is not None:
        yield "cost", "UNKNOWN: set cluster.machine.price"
    if of.energy_kwh is not None:
        each = of.kwh_per_million_tokens
        more = ""
        if each is not None:
            more = f", {each:.4g} kWh per million tokens{_energy_text(of, each)}"
        mean = "" if of.mean_power_w is None else f"{of.mean_power_w:.4g} of "  # of older results
        yield "energy", f"{of.energy_kwh:.4g} kWh{more} at {mean}{of.power_w:g} W"
    elif of.tokens is not None:
        yield "energy", "UNKNOWN: set cluster.machine.power"
    yield from _carried_lines(of)
    if of.rests_on is not None:
        yield "rests on", of.rests_on


def _carried_lines(of: Figures) -> Iterator[tuple[str, str]]:
    if not of.carried:
        return
    if _time_of(of) is None and of.time_low_ns is not None:
        ends = format_time(of.time_low_ns), format_time(of.time_high_ns or 0.0)
        yield (
            "the run",
            "no interval: host time as recorded decides, whatever kernels take"
            if ends[0] == ends[1]
            else _interval_text(of.time_low_ns, of.time_high_ns).strip(" ()"),
        )
    for row in of.carried:
        name = "kernels" if row["op_class"] == "all" else row["op_class"]
        there, here = format_time(row["recorded_ns"]), format_time(row["ns"])
        within = (
            "" if row["low_ns"] == row["high_ns"] else _interval_text(row["low_ns"], row["high_ns"])
        )
        yield name, f"{there} -> {here}{within}"
    if of.not_there:
        yield "not here", f"{', '.join(of.not_there)}; taken as kernels of their class"


def _time_of(of: Figures) -> float | None:
    return of.step_time_ns or of.ttft_ns or of.tpot_ns or of.iteration_ns


def _interval_text(low: float | None, high: float | None) -> str:
    if low is None or high is None:
        return ""
    return f" ({format_time(low)} to {format_time(high)}, 90 %)"


def _rates_text(of: Figures, rate: float, text: Callable[[float], str], name: str = "") -> str:
    time = _time_of(of)
    if of.time_low_ns is None or of.time_high_ns is None or time is None:
        return ""
    low, high = rate * time / of.time_high_ns, rate * time / of.time_low_ns
    return f" ({name}{text(low)} to {text(high)}, 90 %)"


def _per_text(of: Figures, each: float) -> str:
    time = _time_of(of)
    if of.time_low_ns is None or of.time_high_ns is None or time is None:
        return ""
    low, high = each * of.time_low_ns / time, each * of.time_high_ns / time
    return f" ({low:.4g} to {high:.4g}, 90 %)"


def _energy_text(of: Figures, each: float) -> str:
    time = _time_of(of)
    if of.time_low_ns is None or of.time_high_ns is None or time is None:
        return ""
    from yantra.result.energy import ends_of, width_of

    low, high = ends_of(each, width_of((of.time_low_ns / time, of.time_high_ns / time)))
    return f" ({low:.4g} to {high:.4g}, 90 %)"


def _memory_text(of: Figures) -> str:
    need = format_bytes(of.memory_need_bytes or 0)
    if of.memory_bytes is None or of.memory_headroom_bytes is None:
        return need
    left = of.memory_headroom_bytes
    said = f"{format_bytes(left)} left" if left >= 0 else f"{format_bytes(-left)} too much"
    kept = of.memory_bytes - (of.memory_need_bytes or 0) - left
    return f"{need} of {room_text(of.memory_bytes, kept)}, {said}"


def share_text(share: float) -> str:
    return f"{100 * share:.1f} %"


def count_text(number: float) -> str:
    return f"{number:,.0f}" if number >= 100 else f"{number:.3g}"
