"""`yantra network noc`: a network on chip under synthetic traffic."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from yantra.cli.command import WithExamples, json_option, print_json
from yantra.cli.typed import as_typed

if TYPE_CHECKING:
    from collections.abc import Callable

    from yantra.network.noc import Curve, Load, Noc, Point

_FLAGS = {
    name: f"--{name.replace('_', '-')}"
    for name in (
        *("topology", "sizes", "nodes_per_router", "router", "routing", "vcs", "buffer_flits"),
        *("packet_flits", "link_cycles", "router_cycles", "seed", "traffic", "hotspot", "rate"),
        *("sample_cycles", "samples", "warmup_samples", "unstable_cycles"),
    )
}
_HEAD = ("offered", "accepted", "latency", "in network", "p50", "p99", "most", "routers", "packets")
_PERCENTILES = ("latency_p50", "latency_p99", "latency_most")
_NUMBERS = ("rate", "accepted", "packet_latency", "network_latency", *_PERCENTILES, "routers")


def _count(name: str, default: int, help: str) -> Callable[[Callable[..., Any]], Any]:
    return click.option(
        f"--{name}", type=click.IntRange(min=0), default=default, show_default=True, help=help
    )


@click.command(
    cls=WithExamples,
    seldom=(
        "buffer_flits",
        "packet_flits",
        "nodes_per_router",
        "link_cycles",
        "router_cycles",
        "hotspot",
        "sample_cycles",
        "samples",
        "vcs",
        "seed",
    ),
    examples=[
        "yantra network noc --topology mesh --sizes 8x8 --rate 0.2",
        "yantra network noc --topology torus --sizes 4x4 --traffic tornado --curve",
        "yantra network noc --topology mesh --sizes 8x8 --traffic transpose \\\n"
        "    --routing adaptive --rate 0.2 --json",
        "yantra network noc --topology concentrated_mesh --sizes 4x4 \\\n"
        "    --nodes-per-router 4 --router one_stage --packet-flits 5 --rate 0.1",
    ],
    epilog="What is printed is in the reference, docs/reference/networks-on-chip.md.",
)
@click.option(
    "--topology",
    required=True,
    metavar="NAME",
    help="mesh, torus, ring, or concentrated_mesh, which takes --nodes-per-router.",
)
@click.option("--sizes", required=True, metavar="AxB", help="Routers by dimension, such as 8x8.")
@click.option(
    "--traffic",
    default="uniform",
    show_default=True,
    metavar="NAME",
    help="Where nodes send: uniform, transpose, tornado, bit_complement, bit_reverse, shuffle, "
    "neighbour, random_permutation, or hotspot, which takes --hotspot.",
)
@click.option(
    "--rate", type=float, metavar="FLITS", help="The load: flits a node and cycle, up to 1."
)
@click.option("--curve", is_flag=True, help="Find saturation, and measure ten loads up to it.")
@click.option(
    "--router",
    default="input_queued",
    show_default=True,
    metavar="NAME",
    help="input_queued, of four stages as in BookSim, or one_stage, as in Garnet.",
)
@click.option(
    "--routing",
    default="xy",
    show_default=True,
    metavar="NAME",
    help="xy, west_first or adaptive.",
)
@_count("vcs", 4, "Virtual channels of each port.")
@_count("buffer-flits", 8, "Flits that a virtual channel holds.")
@_count("packet-flits", 1, "Flits of a packet.")
@_count("nodes-per-router", 1, "Nodes on each router of a concentrated mesh.")
@_count("link-cycles", 1, "Latency of a channel between routers.")
@_count("router-cycles", 1, "Latency of a one_stage router.")
@_count("hotspot", 0, "The node that all send to, in hotspot traffic.")
@_count("seed", 1, "Seed of the random draws.")
@_count("sample-cycles", 1000, "Cycles of a sample.")
@_count("samples", 10, "Most samples; the first three warm up. Longer ones say more.")
@json_option
def command(rate: float | None, curve: bool, as_json: bool, **given: Any) -> None:
    """Measure the latency of a network on chip at a --rate, or along a --curve of them.

    Nodes send at random times (open loop); times are cycles.
    """
    from yantra.network import noc as networks

    if (rate is None) is not curve:
        raise click.UsageError("expected either --rate FLITS or --curve")
    with as_typed(_FLAGS):
        noc = networks.Noc(
            **_of(networks.Noc, given) | {"sizes": networks.sizes_of(given["sizes"])}
        )
        load = networks.Load(**_of(networks.Load, given))
        if rate is None:
            found = networks.curve(noc, load)
        else:
            point = networks.measure(noc, load, rate)
            found = networks.Curve(networks.zero_load_latency(noc, load), (point,), 0.0, 0.0)
    if as_json:
        print_json(_form(noc, load, found, has_saturation=curve))
    else:
        _print(noc, load, found, has_saturation=curve)


def _of(kind: type[Noc] | type[Load], given: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in given.items() if name in kind._fields}


def _form(noc: Noc, load: Load, found: Curve, *, has_saturation: bool) -> dict[str, Any]:
    form: dict[str, Any] = noc._asdict() | {"traffic": load.traffic}
    form |= {
        "zero_load_latency": found.zero_load_latency,
        "points": [_row(p) for p in found.points],
    }
    if has_saturation:
        form |= {"stable": found.stable, "unstable": found.unstable}
    return form


def _row(point: Point) -> dict[str, Any]:
    numbers = {name: getattr(point, name) for name in _NUMBERS}
    counts = {"packets": point.packets, "cycles": point.cycles, "flit_hops": point.flit_hops}
    return numbers | counts | {"stable": point.is_stable}


def _print(noc: Noc, load: Load, found: Curve, *, has_saturation: bool) -> None:
    from yantra.base.text import table

    sizes = "x".join(f"{size}" for size in noc.sizes)
    sys.stdout.write(
        f"{noc.topology} {sizes}, {load.traffic}, {noc.router}, {noc.routing}; "
        f"latency without load {found.zero_load_latency:.2f} cycles\n"
    )
    rows = [
        (
            f"{point.rate:.4f}",
            f"{point.accepted:.4f}",
            f"{point.packet_latency:.2f}",
            f"{point.network_latency:.2f}",
            *(f"{getattr(point, name):.0f}" for name in _PERCENTILES),
            f"{point.routers:.2f}",
            f"{point.packets}",
        )
        for point in found.points
    ]
    sys.stdout.write("\n".join(table(_HEAD, rows)) + "\n")
    for point in found.points:
        if not point.is_stable:
            sys.stdout.write(f"{point.rate:g} is more than the network takes; the latency grows\n")
    if has_saturation:
        sys.stdout.write(_saturation(found) + "\n")


def _saturation(found: Curve) -> str:
    if found.stable == found.unstable:
        return "saturation: none, it takes all that nodes can offer"
    return f"saturation: {found.stable:.4f} is stable, {found.unstable:.4f} is not"
