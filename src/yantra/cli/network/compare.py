"""`yantra network compare`: one scenario on every network, and what simulating it costs."""

from __future__ import annotations

import sys
from math import inf
from typing import TYPE_CHECKING, Any

import click

from yantra.cli.command import WithExamples, json_option, print_json
from yantra.cli.file_options import cluster_option, read_settings, set_option, stack_option
from yantra.cli.plugin_option import option as plugin_option
from yantra.cli.typed import as_typed

if TYPE_CHECKING:
    from yantra.run.networks import Networks, On, Row
    from yantra.scenario import Scenario

_HEAD = ("network", "time", "difference", "processor", "events", "messages", "ranks run")


@click.command(
    cls=WithExamples,
    seldom=("fold",),
    examples=[
        "yantra network compare step.yaml",
        "yantra network compare step.yw --cluster hgx-h100 --json",
        "yantra network compare --cluster hgx-h100 --all-reduce 64MiB --ranks 16",
        "yantra network compare step.yaml --set collectives.chunks=1 --fold off",
    ],
    epilog="What the columns mean is in the reference, docs/concepts/fidelity.md.",
)
@click.argument("file", type=click.Path(), required=False)
@click.option(
    "--all-reduce",
    metavar="SIZE",
    help="In place of FILE: one all-reduce of SIZE by all ranks of --cluster.",
)
@click.option(
    "--ranks",
    type=click.IntRange(min=2),
    help="With --all-reduce: number of ranks; by default one domain of the cluster.",
)
@cluster_option
@set_option
@stack_option
@click.option(
    "--fold",
    type=click.Choice(["auto", "off", "require"]),
    help="Whether to run one rank for all that do the same; changes no time.",
)
@click.option(
    "--time-limit",
    default="60 s",
    show_default=True,
    metavar="TIME",
    help="Leave out networks that would take longer; a terminal is asked.",
)
@plugin_option
@json_option
def command(
    file: str | None,
    all_reduce: str | None,
    ranks: int | None,
    cluster: str | None,
    settings: tuple[str, ...],
    stack: str | None,
    fold: Any,
    time_limit: str,
    as_json: bool,
) -> int:
    """Run FILE, which yantra run takes, on every network, and print a row for each.

    The difference is from the finest network that runs it. Networks that refuse or deadlock are
    listed with the reason.
    """
    from yantra.base.errors import ConfigError
    from yantra.base.units import read_seconds
    from yantra.run.networks import PartlyComparedError
    from yantra.scenario.text import placed

    chosen = read_settings(settings, stack)
    scenario = _scenario(file, all_reduce, ranks, cluster, chosen)

    def on(network: str) -> Scenario:
        return _scenario(file, all_reduce, ranks, cluster, chosen | {"network": network})

    size = None if all_reduce is None else _whole_bytes(all_reduce)
    limit_s = read_seconds(time_limit, "--time-limit")
    try:
        networks = _compared(scenario, fold, on, limit_s)
        if _wants_all(networks):
            networks = _compared(scenario, fold, on, inf, networks)
    except ConfigError as error:
        raise placed(error, file) from None
    except PartlyComparedError as partly:
        _tell(partly.networks, as_json, size)
        raise (partly.__cause__ or partly) from None
    _tell(networks, as_json, size)
    return 0


def _compared(
    scenario: Scenario, fold: Any, on: On, limit_s: float, before: Networks | None = None
) -> Networks:
    from yantra.cli.progress import progress
    from yantra.run.networks import compare

    with progress("networks", counted=True) as report:
        return compare(scenario, fold=fold, progress=report, on=on, limit_s=limit_s, before=before)


def _wants_all(networks: Networks) -> bool:
    """Ask on a terminal whether to run what was left out."""
    from yantra.cli.terminal import can_redraw

    late = [row for row in networks.rows if row.estimate_s is not None]
    if not late or not sys.stdin.isatty() or not can_redraw(sys.stderr):
        return False
    from yantra.cli.progress import paused

    what = ", ".join(f"{row.network} {_about(row.estimate_s)}" for row in late)
    with paused():
        return click.confirm(f"would take: {what}; run it?", err=True)


def _about(seconds: float | None) -> str:
    """Return a length as people say it: about 7 h."""
    if seconds is None or seconds == inf:
        return "unknown how long"
    for size, unit in ((86_400, "days"), (3_600, "h"), (60, "min")):
        if seconds >= 2 * size:
            return f"about {seconds / size:.0f} {unit}"
    return f"about {seconds:.0f} s"


def _tell(networks: Networks, as_json: bool, size: int | None) -> None:
    if as_json:
        print_json(_form(networks, size))
    else:
        _warn(networks)
        _print(networks, size)


def _whole_bytes(text: str) -> int:
    from yantra.base.errors import ConfigError
    from yantra.base.units import parse

    size = parse(text, "size", "B", "--all-reduce")
    if size < 1 or size != int(size):
        raise ConfigError("--all-reduce", f"expected whole bytes, at least 1, got {text}")
    return int(size)


def _bandwidths(row: Row, ranks: int, size: int | None) -> dict[str, float]:
    from yantra.collectives.bandwidth import bus_rate

    if size is None or not row.makespan_ns:
        return {}
    bus = bus_rate("all_reduce", ranks, size, row.makespan_ns)
    return {"algorithm_bytes_per_ns": size / row.makespan_ns, "bus_bytes_per_ns": bus}


def _scenario(
    file: str | None,
    all_reduce: str | None,
    ranks: int | None,
    cluster: str | None,
    settings: dict[str, Any],
) -> Scenario:
    if file is not None and all_reduce is not None:
        raise click.UsageError(f"expected {file} or --all-reduce {all_reduce}, not both")
    if ranks is not None and all_reduce is None:
        raise click.UsageError("--ranks goes with --all-reduce; a file says how many it has")
    if file is not None:
        from yantra.scenario import load

        return load(file, cluster=cluster, settings=settings)
    if all_reduce is None or cluster is None:
        lacking = "--cluster" if all_reduce else "--all-reduce" if cluster else ""
        missing = f"; {lacking} is missing" if lacking else ""
        raise click.UsageError(f"expected a FILE, or --all-reduce and --cluster{missing}")
    from yantra.chakra import CollectiveType
    from yantra.scenario.one_collective import collective_on

    size = _whole_bytes(all_reduce)
    with as_typed({"cluster": "--cluster", "cluster.ranks": "--ranks"}):
        kind = CollectiveType.ALL_REDUCE
        return collective_on(cluster, kind, size, ranks, settings)


def _form(networks: Networks, size: int | None) -> dict[str, Any]:
    partial = {"partial": True, "not_run": networks.not_run} if networks.not_run else {}
    return partial | {
        "what": networks.what,
        "ranks": networks.ranks,
        "finest": networks.finest,
        "chosen": networks.chosen,
        "networks": [
            _as_dict(row) | _bandwidths(row, networks.ranks, size) for row in networks.rows
        ],
    }


def _as_dict(row: Row) -> dict[str, Any]:
    if row.deadlock:
        return {"network": row.network, "deadlock": row.deadlock}
    if row.cost is None:
        left_out = None if row.estimate_s in (None, inf) else row.estimate_s
        late = {} if row.estimate_s is None else {"left_out": True, "estimate_s": left_out}
        return {"network": row.network, **(late or {"refused": row.refused})}
    return {
        "network": row.network,
        "makespan_ns": row.makespan_ns,
        "difference": row.difference,
        "measured_collectives": row.is_measured,
        **{name.removeprefix("is_"): value for name, value in row.cost._asdict().items()},
        "warnings": list(row.warnings),
    }


def _warn(networks: Networks) -> None:
    from yantra.cli import warn

    ran = [row for row in networks.rows if row.cost]
    texts = dict.fromkeys(text for row in ran for text in row.warnings)
    for text in texts:
        having = [row.network for row in ran if text in row.warnings]
        warn([text if len(having) == len(ran) else f"network {', '.join(having)}: {text}"])


def _print(networks: Networks, size: int | None) -> None:
    from yantra.base.text import count, table
    from yantra.base.units import format_bandwidth

    rows = []
    for row in networks.rows:
        if row.cost:
            rates = _bandwidths(row, networks.ranks, size).values()
            rows.append((*_cells(row), *(format_bandwidth(rate * 1e9) for rate in rates)))
    head = _HEAD if size is None else (*_HEAD, "algbw", "busbw")
    sys.stdout.write(f"{networks.what}; {count(networks.ranks, 'rank')}\n")
    sys.stdout.write("\n".join(table(head, rows)) + "\n")
    sys.stdout.write(f"difference: from the time on {networks.finest}\n")
    sys.stdout.write(_of_collectives(networks.rows))
    for row in networks.rows:
        if row.refused:
            sys.stdout.write(f"{row.network} does not run it: {row.refused}\n")
        if row.deadlock:
            sys.stdout.write(f"{row.network} runs it to a {row.deadlock}\n")
        if row.estimate_s is not None:
            about = _about(row.estimate_s)
            sys.stdout.write(f"{row.network} was left out: {about}; --time-limit runs it\n")
    if networks.not_run:
        sys.stdout.write(f"interrupted before the end of {', '.join(networks.not_run)}\n")


def _of_collectives(rows: tuple[Row, ...]) -> str:
    """Whether rows differ in more than their network."""
    ran = [row for row in rows if row.cost]
    as_measured = ", ".join(row.network for row in ran if row.is_measured)
    if not as_measured or all(row.is_measured for row in ran):
        return ""
    return (
        f"collectives take measured times on {as_measured}, and are messages on the others; with "
        "--stack roofline they are on all\n"
    )


def _cells(row: Row) -> tuple[str, ...]:
    from yantra.base.units import format_time

    assert row.cost is not None and row.makespan_ns is not None
    difference = "-" if row.difference is None else f"{100 * row.difference:+.2f} %"
    return (
        row.network,
        format_time(row.makespan_ns),
        difference,
        format_time(1e9 * row.cost.cpu_s),
        f"{row.cost.events}",
        f"{row.cost.messages}",
        "one of each class" if row.cost.is_folded else "all",
    )
