"""A list of flows as packets: settings, ports, and why they cannot end."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from yantra import _core
from yantra.base import units
from yantra.base.cores import cores
from yantra.base.errors import ConfigError, DeadlockError, did_you_mean, expected_got
from yantra.base.units import format_size, format_time
from yantra.result.link_load import link_name
from yantra.result.packets import Packets, floored_share, needless, trimmed
from yantra.result.table import Table

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from yantra.fabric.graphs.graph import Graph
    from yantra.network.traffic.generator import Flows
    from yantra.run.flow_fronts import Routed

SEMANTICS = ("yantra", "ns3-fork")
"""Packets as one would want, or as ASTRA-sim's ns-3 fork, quirks included."""
PAYLOAD = 1000
PacketRun = _core.PacketRun


class PacketChoice(NamedTuple):
    """Preset, its options by name, semantics, seed of marks.

    `looks` keeps queues, rates and flows over time, every `look_every_ns`: None limits samples, 0
    is every change. `threads`: 0 for as many as gain something, as None; no result depends on it.
    """

    preset: str = "static_window"
    options: tuple[tuple[str, float], ...] = ()
    semantics: str = "yantra"
    seed: int = 0
    looks: bool = False
    look_every_ns: float | None = None
    threads: int | None = None


class Ways(NamedTuple):
    """Ways of sprayed packets, flow by flow."""

    of_flow: int
    routed: Routed


def entropies(choice: PacketChoice) -> int:
    fallback = next(o.fallback for o in _core.packet_options() if o.name == "entropies")
    return int(dict(choice.options).get("entropies", fallback))


def presets() -> dict[str, str]:
    return {preset.name: preset.help for preset in _core.packet_presets()}


def read_options(texts: Iterable[str], preset: str) -> tuple[tuple[str, float], ...]:
    scheme_name = settings(PacketChoice(preset), 100.0).congestion_control
    scheme = next(scheme for scheme in _core.schemes() if scheme.name == scheme_name)
    of_queues = [option for queue in _core.queue_disciplines() for option in queue.options]
    all_options = [*_core.packet_options(), *scheme.options, *of_queues]
    known = {option.name: option for option in all_options}
    found = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if name not in known or not equals:
            problem = expected_got(f"one of {', '.join(known)} and a value, NAME=VALUE", text)
            raise ConfigError("--packet", problem + did_you_mean(name, known))
        found[name] = _value(value, known[name], f"--packet {name}")
    return tuple(found.items())


def _value(text: str, option: _core.SchemeOption, where: str) -> float:
    if not option.choices:
        return _number(text, option.unit, where)
    if text not in option.choices:
        problem = expected_got(f"one of {', '.join(option.choices)}", text)
        raise ConfigError(where, problem + did_you_mean(text, option.choices))
    return float(option.choices.index(text))


def _number(text: str, unit: str, where: str) -> float:
    if unit == "ns":
        return units.parse(text, "time", "ns", where)
    if unit == "bit/s":
        return units.parse(text, "bandwidth", "b/s", where)
    if unit == "B":
        return units.parse(text, "size", "B", where)
    try:
        return float(text)
    except ValueError:
        raise ConfigError(where, expected_got("a number", text)) from None


def settings(choice: PacketChoice, host_gbps: float) -> _core.PacketSettings:
    if choice.semantics not in SEMANTICS:
        problem = expected_got(f"one of {', '.join(SEMANTICS)}", choice.semantics)
        raise ConfigError("--semantics", problem)
    if choice.preset not in presets():
        problem = expected_got(f"one of {', '.join(presets())}", choice.preset)
        raise ConfigError("--preset", problem + did_you_mean(choice.preset, presets()))
    try:
        made = _core.packet_settings(choice.preset, host_gbps, options=dict(choice.options))
    except ValueError as error:
        raise ConfigError("--packet", str(error)) from None
    made.seed = choice.seed
    if choice.looks:
        of_changes = choice.look_every_ns == 0
        made.look = _core.PacketLook.CHANGES if of_changes else _core.PacketLook.SAMPLES
        made.look_every_ns = choice.look_every_ns or 0.0
    if choice.semantics == "ns3-fork":
        made.quirks = sum(quirk.bit for quirk in _core.packet_quirks())
    return made


def start(
    graph: Graph,
    native: _core.FabricGraph,
    routed: Routed,
    back: Routed,
    flows: Flows,
    choice: PacketChoice,
    ways: Ways | None = None,
    steered_by: tuple[str, int] | None = None,
) -> _core.PacketRun:
    """Run a list; ACKs go `back`, packets take turns over `ways`, or choose at each switch.

    `steered_by`: the routing by which they choose, and its seed.
    """
    sprayed: dict[str, Any] = {}
    if ways is not None:
        sprayed = {
            "ways": ways.of_flow,
            "first_way_hop": ways.routed.first.tolist(),
            "way_hops": ways.routed.hops.tolist(),
        }
    if steered_by is not None:
        sprayed = dict(zip(("steered_by", "routing_seed"), steered_by, strict=True))
    try:
        return _core.send_packets(
            first_hop=routed.first,
            hops=routed.hops,
            first_ack_hop=back.first,
            ack_hops=back.hops,
            bytes=flows.bytes.astype(np.float64),
            start_ns=flows.start_ns.astype(np.float64),
            graph=native,
            settings=settings(choice, host_gbps(graph)),
            threads=choice.threads or 0,
            cores=cores(),
            **sprayed,
        )
    except ValueError as error:
        raise ConfigError("--network packet", str(error)) from None


def host_gbps(graph: Graph) -> float:
    links = graph.links
    of_ranks = np.flatnonzero(links.start < graph.ranks)
    if not len(of_ranks):
        return 100.0
    return float(links.bytes_per_ns[of_ranks[0]]) * 8


def header_bytes(choice: PacketChoice) -> int:
    """Of a packet of data, with what its congestion control adds."""
    return _core.packet_header_bytes(settings(choice, 1.0))


def alone_ns(
    graph: Graph, routed: Routed, flows: Flows, payload: int, header: int
) -> NDArray[np.float64]:
    """Flows' times alone in ns, to the receiver's last byte."""
    links, hops = graph.links, routed.hops
    starts = routed.first[:-1].astype(np.int64)
    rates = links.bytes_per_ns[hops]
    full, last = np.divmod(flows.bytes.astype(np.float64), float(payload))
    first = np.where(full > 0, payload, last) + header
    behind = np.maximum(full - 1, 0) * (payload + header)
    behind += np.where((full > 0) & (last > 0), last + header, 0.0)
    latency = np.add.reduceat(links.latency_ns[hops], starts)
    every_link = first * np.add.reduceat(1 / rates, starts)
    alone: NDArray[np.float64] = latency + every_link + behind / np.minimum.reduceat(rates, starts)
    return alone


def port_table(run: _core.PacketRun, graph: Graph) -> Table:
    counts = run.ports()
    used = np.flatnonzero(np.asarray(counts.packets)).tolist()
    names = {link: link_name(graph, link) for link in used}

    def named(part: int) -> Any:
        return lambda: [names[link][part] for link in used]

    def counted(name: str) -> Any:
        return lambda: np.asarray(getattr(counts, name))[used].tolist()

    columns: dict[str, Any] = {"link": ("whole", lambda: used)}
    fields = ("label", "from", "to")
    columns |= {name: ("text", named(part)) for part, name in enumerate(fields)}
    wholes = ("packets", "bytes", "queue_max_bytes", "pauses", "marks", "drops")
    columns |= {name: ("whole", counted(name)) for name in wholes}
    columns |= {name: ("real", counted(name)) for name in ("paused_ns", "busy_ns")}
    return Table("ports", len(used), columns)


def looked_at(run: _core.PacketRun, graph: Graph) -> Packets:
    return Packets(run.seen(), lambda link: link_name(graph, link))


def summary(run: _core.PacketRun) -> dict[str, Any]:
    totals, counts = run.totals, run.ports()
    names = ("packets", "data_packets", "acks", "nacks", "marked_acks", "drops", "timeouts")
    found: dict[str, Any] = {name: getattr(totals, name) for name in names}
    found["pauses"] = sum(counts.pauses)
    found["paused_ns"] = float(np.sum(counts.paused_ns))
    found["queue_max_bytes"] = max(counts.queue_max_bytes, default=0)
    if totals.trims:
        found["trims"] = totals.trims
    if totals.skipped:
        found["skipped"] = totals.skipped
    if totals.timeouts_without_loss:
        found["timeouts_without_loss"] = totals.timeouts_without_loss
    return found


def lines(run: _core.PacketRun, graph: Graph, threads: int | None = None) -> list[str]:
    """Counts, and the threads taken where the user asked for some or several are."""
    of = summary(run)
    found = [
        f"{of['packets']:,} packets crossed a link, {of['marked_acks']:,} ACKs carried a mark, "
        f"{of['drops']:,} were dropped, {of['nacks']:,} NACKs, {of['timeouts']:,} timeouts"
    ]
    if "skipped" in of:
        share = floored_share(of["skipped"], of["packets"])
        found.append(f"skipped {share} of these crossings (flows that never meet); exact")
    found += trimmed(of) + needless(of)
    if of["pauses"]:
        found.append(f"{of['pauses']:,} pauses, {format_time(of['paused_ns'])} over all ports")
    most = np.asarray(run.ports().queue_max_bytes)
    if len(most) and most.max():
        name = link_name(graph, int(most.argmax()))
        size = format_size(int(most.max()))
        found.append(f"the longest queue had {size}, from {name[1]} to {name[2]}")
    if threads is not None or run.threads > 1:
        took = f"{run.threads}" if threads else f"auto took {run.threads}"
        found.append(f"threads: {took}; {run.why_threads}")
    return found


def check_not_stuck(run: _core.PacketRun, graph: Graph) -> None:
    stuck = run.stuck
    if stuck is None:
        return
    rest = (
        f"{stuck.flows} of the flows have not ended; flow {stuck.flow} has {stuck.acknowledged:,} "
        f"of {stuck.bytes:,} bytes acknowledged"
    )
    if stuck.cycle:
        ports = [link_name(graph, link) for link in stuck.cycle]
        way = ", ".join(f"{port[1]} to {port[2]}" for port in ports)
        raise DeadlockError(
            "PFC deadlock: each of these ports is paused by the next, the last by the first: "
            f"{way}. {rest}. Route without circles (up_down), or take larger buffers"
        )
    if stuck.drops:
        where = link_name(graph, stuck.dropped_on)
        raise DeadlockError(
            f"livelock: {stuck.drops:,} packets were dropped since the last byte was acknowledged, "
            f"most on the way from {where[1]} to {where[2]}. {rest}. Take larger buffers, "
            "a window or another congestion control"
        )
    raise DeadlockError(
        f"a loss that nobody notices: {rest}, and nothing is under way. The quirk "
        "no_retransmission_timer does that; take the semantics yantra"
    )
