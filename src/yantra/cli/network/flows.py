"""`yantra network flows`: simulates a list of flows over a fabric."""

from __future__ import annotations

import sys
from contextlib import nullcontext
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING, Any

import click

from yantra.cli.command import WithExamples, json_option, print_json
from yantra.cli.complete import fabrics, networks
from yantra.cli.network.several import compare
from yantra.cli.network.workload import flows_or_workload
from yantra.cli.plugin_option import option as plugin_option
from yantra.cli.program_options import program_of, program_options, refuse
from yantra.cli.typed import of_file

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from yantra.cli.network.workload import Source
    from yantra.fabric.graphs.describe import Shown
    from yantra.fabric.graphs.graph import Graph
    from yantra.fabric.graphs.link_changes import LinkChange
    from yantra.network import Level
    from yantra.result.table import Table
    from yantra.run.flows import Choice, FlowResult, Simulation
    from yantra.run.packets import PacketChoice

_ROWS_AT_ONCE, _SECONDS, _MOST_THREADS = 20_000, 1.0, 32
_ENDINGS = (".csv", ".csv.gz", ".parquet")


def _table_file(_context: Any, option: click.Parameter, path: str | None) -> str | None:
    from yantra.base.errors import ConfigError

    if path is not None and not path.startswith("/dev/") and not path.endswith(_ENDINGS):
        name = f"--{option.name}"
        raise ConfigError(name, f"expected .csv, .csv.gz or .parquet, got {path}")
    return path


def _threads(_context: Any, option: click.Parameter, text: str | None) -> int | None:
    from yantra.base.errors import ConfigError, expected_got

    if text is None:
        return None
    if text == "auto":
        return 0
    if not text.isascii() or not text.isdigit() or not 1 <= int(text) <= _MOST_THREADS:
        problem = expected_got(f"auto, or 1 to {_MOST_THREADS} threads", text)
        raise ConfigError(f"--{option.name}", problem)
    return int(text)


@click.command(
    cls=WithExamples,
    seldom=(
        "command",
        "external",
        "preset",
        "packet",
        "semantics",
        "ports",
        "queues",
        "rates",
        "look_every",
        "threads",
        "rtt_fairness",
        "changes",
        "links",
        "over_time",
        "duration",
    ),
    examples=[
        "yantra network flows flows.csv --topology leaf_spine --set leaves=4 \\\n"
        "    --set ranks_per_leaf=16 --set spines=8 --set bandwidth=100Gb/s \\\n"
        "    --set latency=1us -o fct.csv",
        "yantra network flows --workload websearch --load 0.5 --topology pod.csv \\\n"
        "    --network packet --preset hpcc95 -o fct.parquet",
        "yantra network flows flows.csv --topology pod.csv --routing shortest --json",
        "yantra network flows flows.csv --topology pod.csv --changes failures.csv",
        "yantra network flows flows.csv --topology pod.csv \\\n    --network store_and_forward",
        "yantra network flows flows.csv --topology pod.csv --network packet \\\n"
        "    --preset hpcc95 --ports ports.csv --queues queues.csv",
        "yantra network flows flows.csv --topology pod.csv --network external \\\n"
        "    --command './my_simulator --verbose'",
        "yantra network flows flows.csv --topology 'R(4)_SW(8)' \\\n    --network ./my_network.py",
        "yantra network flows flows.csv --topology pod.csv --hot-links 3 \\\n"
        "    --links links.csv --svg loads.svg",
    ],
    epilog="The list has the columns src, dst, bytes and start_ns. What is printed and written is "
    "in the reference, docs/reference/traffic.md. Ctrl-C keeps the flows that have ended.",
)
@flows_or_workload
@click.option(
    "--topology",
    required=True,
    metavar="KIND|FILE",
    shell_complete=fabrics,
    help="The fabric: a kind, a file with a graph, or a product of dimensions.",
)
@click.option(
    "--set", "settings", multiple=True, metavar="KEY=VALUE", help="Set an option of the fabric."
)
@click.option(
    "--network",
    metavar="NAME|FILE",
    default="flow",
    show_default=True,
    shell_complete=networks,
    help="How flows share links: not at all (analytical), whole and one after the other "
    "(store_and_forward), max-min fairly (flow), as packets (packet), as a program of "
    "yours says (external), or as any other network does, such as one in a Python file.",
)
@program_options
@click.option(
    "--preset",
    default="static_window",
    show_default=True,
    metavar="NAME",
    help="With --network packet: the congestion control and all that goes with it.",
)
@click.option(
    "--packet",
    "packet_options",
    multiple=True,
    metavar="NAME=VALUE",
    help="With --network packet: change an option of the preset, such as buffer=16MiB.",
)
@click.option(
    "--semantics",
    type=click.Choice(["yantra", "ns3-fork"]),
    default="yantra",
    show_default=True,
    help="With --network packet: what you would expect, or what the ns-3 fork does, to the ns.",
)
@click.option(
    "--ports",
    type=click.Path(),
    callback=_table_file,
    help="With --network packet: write a row for each port, with its queue, pauses and marks.",
)
@click.option(
    "--queues",
    type=click.Path(),
    callback=_table_file,
    help="With --network packet: write a row for each port and sample of its queue.",
)
@click.option(
    "--rates",
    type=click.Path(),
    callback=_table_file,
    help="With --network packet: write a row for each flow and sample of its rate and window.",
)
@click.option(
    "--look-every",
    metavar="TIME",
    help="The time between samples of --queues and --rates: 1us, or 0ns for every change. By "
    "default 100 ns, or longer in long runs.",
)
@click.option(
    "--threads",
    metavar="auto|N",
    callback=_threads,
    help="With --network packet: threads to part the fabric over; all give the same result. By "
    "default auto: as many as gain something.",
)
@click.option(
    "--routing",
    default="ecmp",
    show_default=True,
    metavar="NAME[,NAME]",
    help="The routes of the flows; several are compared, a row for each.",
)
@click.option(
    "--seed",
    type=click.IntRange(0, 2**63 - 1),
    default=0,
    show_default=True,
    help="Seed of the hash that chooses routes, and of the random draws.",
)
@click.option("--rtt-fairness", is_flag=True, help="Share by 1 / round trip, not equally.")
@click.option(
    "--changes",
    type=click.Path(),
    help="A CSV of at_ns,from,to,bandwidth: when links change their rate; 0 is a failure.",
)
@click.option(
    "-o",
    "--output",
    type=click.Path(),
    callback=_table_file,
    help="Write a row for each flow to a .csv, .csv.gz or .parquet file; --links, --ports, "
    "--queues and --rates take the same.",
)
@click.option(
    "--links",
    type=click.Path(),
    callback=_table_file,
    help="Write a row for each change of a link's rate.",
)
@click.option(
    "--hot-links",
    type=click.IntRange(min=1),
    metavar="N",
    help="Print the N busiest links and the largest flows of each.",
)
@click.option("--svg", type=click.Path(), metavar="FILE", help="Draw the fabric with its load.")
@click.option(
    "--over-time",
    is_flag=True,
    help="With --svg: colours change over the time of the run, in a loop. Only where links have "
    "rates: on flow and store_and_forward.",
)
@plugin_option
@json_option
def command(
    flows: Source,
    topology: str,
    settings: tuple[str, ...],
    network: str,
    program: str | None,
    external: tuple[str, ...],
    preset: str,
    packet_options: tuple[str, ...],
    semantics: str,
    ports: str | None,
    queues: str | None,
    rates: str | None,
    look_every: str | None,
    threads: int | None,
    routing: str,
    seed: int,
    rtt_fairness: bool,
    changes: str | None,
    output: str | None,
    links: str | None,
    hot_links: int | None,
    svg: str | None,
    over_time: bool,
    as_json: bool,
) -> None:
    """Simulate the flows of a list or a workload; print how much slower they are than alone."""
    from yantra.fabric.graphs import link_changes
    from yantra.fabric.graphs.describe import shown
    from yantra.network import describe
    from yantra.run.flows import Choice
    from yantra.scenario.settings import parsed

    routed = routing.split(",")
    level = _level(network, routed, hot_links is not None or svg is not None)
    fabric = _told(shown(topology, parsed(settings)))
    over_time = _draws(fabric.graph, svg, over_time)
    change_list = None if changes is None else link_changes.read(changes, fabric.graph)
    series = {"queues": queues, "rates": rates}
    asked = _packets(level, preset, packet_options, semantics, seed, ports, threads)
    packets = _looking(asked, level, series, look_every)
    outside = program_of(level, program, external)
    choice = Choice(routing, seed, rtt_fairness, network, packets, outside)
    begin = partial(_begin, flows, fabric, choice, change_list, links is not None or over_time)
    if len(routed) > 1:
        of_one = {"output": output, "ports": ports, "links": links, "svg": svg, **series}
        compare(routed, begin, of_one | {"hot-links": hot_links}, describe(network), as_json)
        return
    simulation = begin(routing)
    _tell_work(simulation, as_json)
    try:
        _simulate(simulation, output)
    except KeyboardInterrupt:
        _tell_partial(simulation, output)
        _print(simulation.result, describe(network), hot_links, as_json, is_partial=True)
        raise
    finally:
        _write_seen(simulation, ports, series)
    _draw(simulation.result, links, svg, f"{flows.name} on {topology}", over_time)
    _print(simulation.result, describe(network), hot_links, as_json, of=simulation)


def _begin(
    flows: Source,
    fabric: Shown,
    choice: Choice,
    changes: list[LinkChange] | None,
    keeps_rates: bool,
    routing: str,
) -> Simulation:
    from yantra.run.flows import Simulation

    listed, choice = flows.flows(choice.seed, fabric.graph), choice._replace(routing=routing)
    with of_file(flows.path):
        return Simulation(fabric.graph, listed, choice, changes, keeps_rates, fabric)


def _tell_work(simulation: Simulation, as_json: bool) -> None:
    if simulation.work.is_long and not as_json:
        sys.stderr.write(f"{simulation.work.text()}\n")


def _told(fabric: Shown) -> Shown:
    """The same; a note says what an example filled in."""
    from yantra.base.notes import note

    if fabric.assumed:
        own = ", ".join(f"{name}={fabric.options[name]}" for name in fabric.assumed)
        note(f"--topology {fabric.name}: taken from an example: {own}; --set says others")
    return fabric


def _draws(graph: Graph, svg: str | None, over_time: bool) -> bool:
    from yantra.fabric.graphs.drawing import check_size

    if over_time and svg is None:
        raise click.UsageError("--over-time goes with --svg, which it draws")
    if svg is not None:
        check_size(graph)
    return over_time


def _draw(
    result: FlowResult, links: str | None, svg: str | None, title: str, over_time: bool
) -> None:
    from yantra.base.output import write_text
    from yantra.fabric.graphs.drawing import FRAMES, drawing

    if links is not None:
        _write(result.link_table(), links)
    if svg is not None:
        write_text(svg, drawing(result.graph, title, result.loads(FRAMES * over_time)))


def _level(network: str, names: list[str], draws: bool) -> Level:
    from yantra.base.errors import ConfigError
    from yantra.network import find, routings

    level = find(network, "--network")
    for name in names:
        routing = routings.find(name, "--routing")
        if routing.by_packet and level.flow_lists != "packets":
            refuse("--routing", "packet", level, f"{name} ")
        if draws and level.flow_lists == "packets" and (routing.by_packet or routing.by_load):
            problem = f"{name} parts the packets of a flow, and these show one way of each; --ports"
            raise ConfigError("--hot-links or --svg", f"{problem} has what each port sent")
    return level


def _packets(
    level: Level,
    preset: str,
    options: tuple[str, ...],
    semantics: str,
    seed: int,
    ports: str | None,
    threads: int | None,
) -> PacketChoice:
    from yantra.run.packets import PacketChoice, read_options

    if level.flow_lists != "packets":
        given = {
            "--preset": preset != "static_window",
            "--packet": bool(options),
            "--semantics": semantics != "yantra",
            "--ports": ports is not None,
            "--threads": threads is not None,
        }
        for name, is_given in given.items():
            if is_given:
                refuse(name, "packet", level)
        return PacketChoice()
    read = read_options(options, preset)
    return PacketChoice(preset, read, semantics, seed, threads=threads)


def _looking(
    packets: PacketChoice, level: Level, series: dict[str, str | None], every: str | None
) -> PacketChoice:
    from yantra.base import units
    from yantra.base.errors import ConfigError

    wanted = [name for name, path in series.items() if path is not None]
    if wanted and level.flow_lists != "packets":
        refuse(f"--{wanted[0]}", "packet", level)
    if every is not None and not wanted:
        raise ConfigError("--look-every", "goes with --queues or --rates")
    if not wanted:
        return packets
    every_ns = None if every is None else units.parse(every, "time", "ns", "--look-every")
    if every_ns is not None and every_ns < 0:
        raise ConfigError("--look-every", f"must be at least 0; got {every}")
    return packets._replace(looks=True, look_every_ns=every_ns)


def _write(table: Table, path: str) -> None:
    (table.to_parquet if path.endswith(".parquet") else table.to_csv)(path)


def _write_seen(simulation: Simulation, ports: str | None, series: dict[str, str | None]) -> None:
    from yantra.run.packets import looked_at, port_table

    if ports is not None and simulation.packet_run is not None:
        _write(port_table(simulation.packet_run, simulation.graph), ports)
    for name, path in series.items():
        if path is not None and simulation.packet_run is not None:
            _write(getattr(looked_at(simulation.packet_run, simulation.graph), name), path)


def _simulate(simulation: Simulation, output: str | None) -> None:
    from yantra.cli.interruption import held
    from yantra.cli.progress import progress
    from yantra.export.growing import growing_table

    total = simulation.work.flows
    rows = _Rows(total)
    file = nullcontext() if output is None else growing_table(output, simulation.result.table())
    with file as add, progress("simulating flows") as report:
        try:
            for ended in simulation.ended():
                known = rows.take(ended)
                if add is not None and len(known):
                    with held():
                        add(simulation.result.table(known))
                        rows.written(known)
                if report is not None:
                    report(rows.done, total)
            simulation.check_all_end()
        finally:
            if add is not None:
                with held():
                    result = simulation.result
                    add(result.table(rows.rest(result.through)))


class _Rows:
    """Flows to write: those through, as are all before."""

    def __init__(self, total: int) -> None:
        import numpy as np

        self._is_through: NDArray[np.bool_] = np.zeros(total, np.bool_)
        self._next = 0
        self._last = monotonic()
        self.done = 0

    def take(self, ended: NDArray[np.int64]) -> NDArray[np.int64]:
        import numpy as np

        self.done += int(np.count_nonzero(~self._is_through[ended]))  # it may have begun again
        self._is_through[ended] = True
        behind = ~self._is_through[self._next :]
        ready = int(np.argmax(behind)) if behind.any() else len(behind)
        if ready < _ROWS_AT_ONCE and monotonic() - self._last < _SECONDS:
            ready = 0
        return np.arange(self._next, self._next + ready)

    def written(self, flows: NDArray[np.int64]) -> None:
        self._next += len(flows)
        self._last = monotonic()

    def rest(self, through: NDArray[np.int64]) -> NDArray[np.int64]:
        return through[through >= self._next]


def _tell_partial(simulation: Simulation, output: str | None) -> None:
    from yantra.base.output import partial_name
    from yantra.cli import warn

    through = f"{len(simulation.result.through):,} of {simulation.work.flows:,} flows"
    if output is not None:
        warn([f"interrupted: {partial_name(output)} has the {through} that had ended"])
    else:
        warn([f"interrupted: {through} had ended"])


def _print(
    result: FlowResult,
    network: str,
    hot_links: int | None,
    as_json: bool,
    *,
    is_partial: bool = False,
    of: Simulation | None = None,
) -> None:
    import numpy as np

    from yantra.base.text import count as counted
    from yantra.base.text import table
    from yantra.base.units import format_time
    from yantra.result.hot_links import as_form, lines
    from yantra.result.slowdowns import PERCENTILES
    from yantra.run import packets

    run = None if of is None else of.packet_run
    through, total = len(result.through), len(result.end_ns)
    rows = list(result.by_size())
    hot = [] if hot_links is None else result.hot_links(hot_links)
    if as_json:
        names = [f"p{percentile}" for percentile in PERCENTILES]
        slowdowns = [
            {"from_bytes": None if power is None else 10**power, "flows": count}
            | dict(zip(names, slowdown, strict=True))
            | {f"fct_{name}_ns": ns for name, ns in zip(names, fct, strict=True)}
            for power, count, slowdown, fct in rows
        ]
        form: dict[str, Any] = {"flows": total, "network": network, "end_ns": result.makespan_ns}
        if is_partial:
            form |= {"partial": True, "through": through}
        if hot_links is not None:
            form["hot_links"] = as_form(hot)
        if run is not None:
            form |= {"packets": packets.summary(run)}
            form |= {"threads": run.threads, "why_threads": run.why_threads}
        print_json(form | {"slowdown": slowdowns})
        return
    cells = [
        (
            "all" if power is None else f"10^{power} B",
            f"{count}",
            *(f"{value:.3f}" for value in slowdown),
            *(format_time(float(np.round(ns))) for ns in fct),
        )
        for power, count, slowdown, fct in rows
    ]
    head = [f"p{percentile}" for percentile in PERCENTILES]
    said = counted(total, "flow") if through == total else f"{through} of {total} flows"
    sys.stdout.write(f"{said}, the last ends at {format_time(result.makespan_ns)}\n")
    sys.stdout.write("slowdown against alone, and time to completion\n")
    columns = ("size from", "flows", *head, *(f"time {name}" for name in head))
    sys.stdout.write("\n".join(table(columns, cells)) + "\n")
    if run is not None and of is not None:
        asked = of.choice.packets.threads
        sys.stdout.write("\n".join(packets.lines(run, result.graph, asked)) + "\n")
    if hot_links is not None:
        sys.stdout.write("\n" + "\n".join(lines(hot)) + "\n")
