"""The files of ASTRA-sim's ns-3 front end, for scripts of HPCC's simulator.

FCT_OUTPUT_FILE has a line per message, in order of last ACKs: source and destination address
(hexadecimal), both ports, bytes, start and completion time (ns), time alone (ns). PFC_OUTPUT_FILE
has one per pause and resume: time (ns), node, 0 for a host and 1 for a switch, port (from 1), 1 for
a pause or 0 for its end. QLEN_MON_FILE has one per switch and multiple of 100 ns at which a port
has 1,000 bytes or more: "time", ns, node, and for each such port "j", number and bytes.

Trade-off: within one ns, messages are in the order of sending and ports in that of links; a pause
that ends in its first ns has no line.

Source: astra-sim/astra-network-ns3, scratch/common.h.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from yantra.astra_sim.ns3 import FirstWays, outputs
from yantra.base.output import whole_file

if TYPE_CHECKING:
    from collections.abc import Iterable

    from yantra.astra_sim.ns3 import Outputs
    from yantra.fabric.graphs.graph import Graph
    from yantra.result import Result

_FIRST_PORT, _DESTINATION_PORT, _PORTS = 10_000, 100, 2**16
_HEADERS = 36  # bytes of a packet, without telemetry


def write(result: Result, config: str) -> None:
    asked = outputs(config)
    if asked.completed:
        _write(asked.completed, _completed(result, asked))
    if asked.pauses:
        _write(asked.pauses, _pauses(result, asked.graph))
    if asked.queues:
        _write(asked.queues, _queues(result, asked.graph))


def _write(path: str, lines: Iterable[tuple[float, str]]) -> None:
    with whole_file(path) as unfinished, open(unfinished, "w", encoding="ascii") as file:
        file.writelines(f"{text}\n" for _, text in sorted(lines, key=lambda line: line[0]))


def _completed(result: Result, asked: Outputs) -> list[tuple[float, str]]:
    rows = result.packets.messages.as_dict()
    columns = (rows[name] for name in ("sender", "receiver", "bytes", "start_ns"))
    ways = FirstWays(asked.graph, asked.payload)
    alone = {host: ways.pairs_from(host) for host in set(rows["sender"])}
    sent: Counter[tuple[int, int]] = Counter()
    lines = []
    for source, destination, size, start, end in zip(
        *columns, rows["acknowledged_ns"], strict=True
    ):
        port = (_FIRST_PORT + sent[source, destination]) % _PORTS
        sent[source, destination] += 1
        if end is None:
            continue
        pair = alone[source][destination]
        whole = size + _HEADERS * ((size - 1) // asked.payload + 1)
        alone_ns = pair.rtt_ns + whole * 8 * 10**9 // pair.bits_per_s
        ends = f"{_address(source)} {_address(destination)} {port} {_DESTINATION_PORT}"
        lines.append((end, f"{ends} {size} {start:.0f} {end - start:.0f} {alone_ns}"))
    return lines


def _pauses(result: Result, graph: Graph) -> list[tuple[float, str]]:
    ports = _ports(graph)
    rows = result.packets.queues.as_dict()
    links = result.packets.numbers
    starts = graph.links.start.tolist()
    is_paused: dict[int, int] = {}
    lines = []
    for row, at_ns, paused in zip(rows["link"], rows["at_ns"], rows["paused"], strict=True):
        if paused == is_paused.get(row, 0):
            continue
        is_paused[row] = paused
        link = links[row]
        node = graph.name_of(starts[link]).removeprefix("node ")
        kind = int(starts[link] >= graph.ranks)
        lines.append((at_ns, f"{at_ns:.0f} {node} {kind} {ports[link]} {paused}"))
    return lines


def _queues(result: Result, graph: Graph) -> list[tuple[float, str]]:
    ports = _ports(graph)
    rows = result.packets.sweeps.as_dict()
    links = result.packets.numbers
    starts = graph.links.start.tolist()
    most = Counter(starts)
    found: dict[tuple[float, int], list[tuple[int, int]]] = {}
    for row, at_ns, size in zip(rows["link"], rows["at_ns"], rows["bytes"], strict=True):
        device = starts[links[row]]
        found.setdefault((at_ns, device), []).append((ports[links[row]], size))
    nodes = {device: int(graph.name_of(device).removeprefix("node ")) for _, device in found}
    lines = []
    for at_ns, device in sorted(found, key=lambda key: (key[0], nodes[key[1]])):
        said = sorted(found[at_ns, device])
        blank = " " * (said[-1][0] < most[device])
        text = " ".join(f"j {port} {size}" for port, size in said)
        lines.append((at_ns, f"time {at_ns:.0f} {nodes[device]} {text}{blank}"))
    return lines


def _ports(graph: Graph) -> list[int]:
    counts: Counter[int] = Counter()
    numbers = []
    for device in graph.links.start.tolist():
        counts[device] += 1
        numbers.append(counts[device])
    return numbers


def _address(node: int) -> str:
    return f"{0x0B000001 + (node // 256 << 16) + (node % 256 << 8):08x}"
