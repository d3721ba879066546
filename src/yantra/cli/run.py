"""`yantra run`: runs a scenario, a result again, or a workload on a named cluster."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from yantra.base.errors import CapacityError, ConfigError
from yantra.cli import recording, timeline_options, warn
from yantra.cli.command import WithExamples, json_option
from yantra.cli.complete import algorithms, networks
from yantra.cli.file_options import (
    answered,
    cluster_option,
    read_settings,
    set_option,
    stack_option,
)
from yantra.cli.opened import one_file
from yantra.cli.plugin_option import option as plugin_option
from yantra.cli.recorded_on import differences
from yantra.cli.show import show
from yantra.export.json import json_pieces
from yantra.result.table_names import ALL_TABLES, RECORDED_TABLES

if TYPE_CHECKING:
    from collections.abc import Callable

    from yantra.compile import Model
    from yantra.result import Result
    from yantra.scenario import Scenario
    from yantra.scenario.settings import Settings
    from yantra.scenario.types import Fold

_KINDS = ("all_reduce", "all_gather", "reduce_scatter", "all_to_all")
_SHOWN_AS_JSON = ("ranks", "dimensions", "links")
_AND_OF_PACKETS = ("packet_ports", "packet_slowdowns")


def _form_and_file(text: str) -> tuple[str, str]:
    from yantra.result.forms import exporter

    form, _, path = text.partition("=")
    if not form or not path:
        expected = "expected FORM=FILE, such as summary=out.txt"
        raise click.UsageError(f"--export: {expected}; got '{text}'")
    exporter(form)
    return form, path


@click.command(
    cls=WithExamples,
    seldom=(
        "parquet",
        "table",
        "trace_ranks",
        "trace_messages",
        "explain_folding",
    ),
    examples=[
        "yantra run step.yaml",
        "yantra run step.yaml -o result.json",
        "yantra run result.json",
        "yantra run step.yaml --csv nodes.csv --table nodes",
        "yantra run step.yaml --json",
        "yantra run meshed.yaml --plugin my_mesh.py",
        "yantra run step.yw --cluster hgx-h100",
        "yantra run 'step.{rank}.et' --cluster hgx-h100 \\\n"
        "    --set cluster.device.compute=recorded",
        "yantra run 'rank{rank}.json.gz' --cluster mi300x --from h100-sxm",
        "yantra run host.0.json device.0.json --cluster mi300x --step 1",
        "yantra run rank0.json.gz --cluster mi300x --host-time x0.8",
        "yantra run report.sqlite --cluster hgx-h100",
        "yantra run step.yaml --set 'cluster.topology[0].bandwidth=x2'",
        "yantra run step.yaml --report report.html",
        "yantra run step.yaml --trace run.pftrace",
        "yantra run step.yaml --set network=flow --hot-links 3",
        "yantra run --workload step.yw --cluster hgx-h100 --explain-folding",
        "yantra run step.yw --cluster hgx-h100 --energy --set cluster.machine.pue=1.2",
        "yantra run tenants.yaml",
    ],
    epilog="FILE is a scenario, a result (which runs again), or what runs on a --cluster: a "
    "workload (.yw), traces ('step.{rank}.et'), a training job or a recording (of PyTorch, with "
    "its host traces, JAX, Nsight Systems, rocprofv3, MPI, GOAL), also of one rank a file; or a "
    "list of jobs on one cluster. Its content decides which. Many scenarios, on all cores: yantra "
    "sweep.",
)
@click.argument("files", type=click.Path(), nargs=-1, metavar="[FILE]...")
@click.option("--workload", type=click.Path(), help="A workload file (.yw), in place of FILE.")
@cluster_option
@set_option
@click.option(
    "--semantics",
    type=click.Choice(["yantra", "astra-sim", "astra-sim@mlsys26"]),
    default="yantra",
    show_default=True,
    hidden=True,
)
@click.option(
    "--network", shell_complete=networks, default="analytical", show_default=True, hidden=True
)
@click.option("--all-reduce", shell_complete=algorithms, hidden=True)
@click.option("--all-gather", shell_complete=algorithms, hidden=True)
@click.option("--reduce-scatter", shell_complete=algorithms, hidden=True)
@click.option("--all-to-all", shell_complete=algorithms, hidden=True)
@click.option("--chunks", type=int, hidden=True)
@stack_option
@answered("--speeds", "--profile", "--collectives", "--dtype")
@click.option(
    "--from",
    "source",
    metavar="GPU",
    help="GPU that a recorded job ran on; its kernels are carried to the cluster's.",
)
@click.option("--step", type=click.IntRange(0), help="Of a recording: this step alone.")
@click.option(
    "--host-time",
    metavar="FACTOR",
    help="Of a recording: host work takes this many times as long, such as x0.8; by default as "
    "recorded.",
)
@click.option("--ignore-memory", is_flag=True, help="Also run what does not fit into memory.")
@click.option(
    "--fold",
    type=click.Choice(["auto", "off", "require"]),
    help="Whether to run one rank for all that do the same; changes no result.",
)
@click.option(
    "--explain-folding", is_flag=True, help="Show which ranks do the same, and why others do not."
)
@json_option
@click.option("-o", "--output", type=click.Path(), help="Write the result as JSON; gzip for .gz.")
@click.option("--csv", type=click.Path(), help="Write one table as CSV; gzip for .gz.")
@click.option("--parquet", type=click.Path(), help="Write one table as Parquet.")
@click.option(
    "--export",
    "exports",
    multiple=True,
    callback=lambda _context, _option, texts: [_form_and_file(text) for text in texts],
    metavar="FORM=FILE",
    help="Write the result in any form, by its name or file (./mine.py=out); may be repeated.",
)
@click.option("--report", "html", type=click.Path(), help="Write a report as one HTML file.")
@click.option(
    "--table",
    type=click.Choice(ALL_TABLES),
    metavar="NAME",
    default="ranks",
    show_default=True,
    help=f"The table for --csv and --parquet: {', '.join(ALL_TABLES)}.",
)
@click.option(
    "--energy",
    is_flag=True,
    help="Show what devices, hosts, switches and the building draw, over time, too.",
)
@click.option(
    "--hot-links",
    type=click.IntRange(min=1),
    metavar="N",
    help="Show the N busiest links and whose messages crossed them; runs and records all ranks.",
)
@plugin_option
@recording.option
@timeline_options.options
@click.pass_context
def command(
    context: click.Context,
    /,
    files: tuple[str, ...],
    workload: str | None,
    fold: Fold | None,
    record: bool | None,
    explain_folding: bool,
    as_json: bool,
    output: str | None,
    csv: str | None,
    parquet: str | None,
    exports: list[tuple[str, str]],
    table: str,
    trace: str | None,
    trace_ranks: str | None,
    trace_messages: int | None,
    html: str | None,
    hot_links: int | None,
    energy: bool,
    **options: Any,
) -> int:
    """Run FILE and show where the time of its ranks goes."""
    file = one_file(files, options.pop("step"), options.pop("host_time"), options["cluster"])
    warn(differences(files, options["source"], "--from", "its kernels are taken for those of"))
    if file is not None and workload is None and _is_list_of_jobs(file, energy=energy):
        return _run_jobs(context, file, options, as_json=as_json, output=output, html=html)
    timeline_options.check(trace, trace_ranks, trace_messages)
    if hot_links is not None and as_json:
        raise click.UsageError(_TEXT_ALONE)
    keeps = any(
        (as_json, output, csv, parquet, exports, trace, html, hot_links is not None, record)
    )
    model = _model(context, file, workload, options, keeps=keeps)
    _check_power(model, energy=energy)
    if not as_json:
        warn(model.warnings)

    def keep(stop: KeyboardInterrupt) -> None:
        from yantra.cli import partial

        others = [*(path for _, path in exports), *filter(None, [trace])]
        partial.keep(stop, partial.Files(output, csv, parquet, table, html, others), as_json)

    record = _recorded(model, table, record) if csv or parquet else record
    needs = True if html else recording.MOST_BYTES if as_json or output or trace else False
    result = _simulated(model, keep, record, needs, fold, hot_links)
    if explain_folding:
        _explain(model, result, fold)
    if not as_json:
        warn(result.run_warnings)
    if html:
        result.to_report(html)  # first: it weighs causes, which the rest repeats
    _write(result, output, csv, parquet, table, exports, energy)
    if trace:
        timeline_options.write(result, trace, trace_ranks, trace_messages)
    _show(result, hot_links, as_json=as_json, energy=energy)
    return 0


def _check_power(model: Model, *, energy: bool) -> None:
    if energy and model.scenario.machine.power_w is None:
        problem = f"missing; --energy needs what a device draws, such as --set {_POWER}='700 W'"
        raise ConfigError(_POWER, problem)


def _show(result: Result, hot_links: int | None, *, as_json: bool, energy: bool) -> None:
    if as_json:
        sys.stdout.writelines(json_pieces(result, _shown_as_json(result), energy=energy))
        return
    show(result)
    if energy:
        _show_energy(result)
    if hot_links is not None:
        _show_hot_links(result, hot_links)


def _recorded(model: Model, table: str, record: bool | None) -> bool | None:
    _warn_of_no_links(model, table)
    return True if table in RECORDED_TABLES and record is None else record


def _simulated(
    model: Model,
    keep: Callable[[KeyboardInterrupt], None],
    record: bool | None,
    needs: bool | int,
    fold: Fold | None,
    hot_links: int | None,
) -> Result:
    from yantra.cli.progress import progress

    if hot_links is not None:
        _check_links(model, record, fold)
        record, fold = True, "off"
    try:
        with progress("simulating") as report:
            return recording.run(model, record, needs, progress=report, fold=fold)
    except KeyboardInterrupt as stop:
        keep(stop)
        raise


def _shown_as_json(result: Result) -> tuple[str, ...]:
    return _SHOWN_AS_JSON + (_AND_OF_PACKETS if result.packet_summary is not None else ())


def _write(
    result: Result,
    output: str | None,
    csv: str | None,
    parquet: str | None,
    table: str,
    exports: list[tuple[str, str]],
    energy: bool,
) -> None:
    from yantra.export import local_memory_trace

    if output:
        result.export("json", output, energy=energy)
    if csv:
        result.to_csv(csv, table)
    if parquet:
        result.to_parquet(parquet, table)
    for form, path in exports:
        warn(result.export(form, path))
    if result.model.scenario.track_local_memory:
        local_memory_trace.write_traces(result)


def _show_energy(result: Result) -> None:
    from yantra.export.energy import lines

    if result.energy is not None:
        sys.stdout.write("\n" + "\n".join(lines(result.energy)) + "\n")


def _show_hot_links(result: Result, most: int) -> None:
    from yantra.result.hot_links import hot_links, lines

    sys.stdout.write("\n" + "\n".join(lines(hot_links(result, most))) + "\n")


def _is_list_of_jobs(file: str, *, energy: bool) -> bool:
    from yantra.scenario.recognise import recognise

    is_list = recognise(file).kind == "jobs"
    if is_list and energy:
        raise click.UsageError("--energy goes with one job, not with a list of jobs")
    return is_list


def _run_jobs(context: click.Context, file: str, options: dict[str, Any], **given: Any) -> int:
    from yantra.cli import together

    settings = read_settings(options["settings"], options["stack"])
    if options.pop("source") is not None:
        raise click.UsageError("--from goes with a recorded job, not with a list of jobs")
    ignored = options["ignore_memory"]
    return together.command(context, file, settings, ignore_memory=ignored, **given)


def _model(
    context: click.Context,
    file: str | None,
    workload: str | None,
    options: dict[str, Any],
    *,
    keeps: bool,
) -> Model:
    from yantra.compile import compile
    from yantra.scenario.text import placed

    _warn_of_changes(file)
    is_ignored = options["ignore_memory"]
    scenario = _scenario(context, file, workload, options)
    if not keeps:
        scenario = _with_no_looks(scenario)
    try:
        model = compile(scenario)
    except ConfigError as error:
        raise placed(error, file) from None
    if model.lacks_memory and not is_ignored:
        problem = f"{model.lacks_memory}, or run it all the same with --ignore-memory"
        raise CapacityError("workload", problem)
    return model


def _with_no_looks(scenario: Scenario) -> Scenario:
    """Packets keep no queues over time that nothing shows, so that what repeats can be skipped."""
    from yantra.base.fields.plugin import Plugin

    network = scenario.network
    network = Plugin(kind="packet") if network == "packet" else network
    if not isinstance(network, Plugin) or network.kind != "packet":
        return scenario
    if {"look", "look_every", "sweep_every"} & dict(network.options).keys():
        return scenario
    options = (*network.options, ("look", "nothing"))
    return scenario.replace(network=network.replace(options=options))


def _check_links(model: Model, record: bool | None, fold: Fold | None) -> None:
    if record is False:
        raise click.UsageError("--hot-links needs a recorded run; leave out --no-record")
    if fold == "require":
        raise click.UsageError("--hot-links runs all ranks; leave out --fold require")
    if not model.follows_links:
        problem = f"this network keeps no links; these do: {_having_links()}"
        raise ConfigError("--hot-links", problem)


def _having_links() -> str:
    from yantra.network import level_of, names

    return ", ".join(name for name in names() if level_of(name).has("has_links"))


def _warn_of_no_links(model: Model, table: str) -> None:
    if table == "links" and not model.keeps_links:
        problem = f"this network keeps no links; these do: {_having_links()}"
        warn([f"--table links: empty, because {problem}"])


def _warn_of_changes(file: str | None) -> None:
    from yantra.scenario.origin import changed_inputs

    if file is not None:
        warn([f"{file}: {problem}" for problem in changed_inputs(file)])


def _explain(model: Model, result: Result, fold: Fold | None) -> None:
    from yantra.run import fold as folding

    is_off = (fold or model.scenario.fold) == "off"
    why = "--fold off" if is_off else result.not_folded
    click.echo("\n".join(folding.explain(model, folding.find(model), why)), err=True)


def _scenario(
    context: click.Context, file: str | None, workload: str | None, options: dict[str, Any]
) -> Scenario:
    from yantra.scenario.recognise import Known, recognise, workload_of
    from yantra.scenario.text import of_known

    cluster, stack = options.pop("cluster"), options.pop("stack")
    settings = _carried(
        read_settings(options.pop("settings"), stack), options.pop("source"), cluster
    )
    if file is None and (workload is None or cluster is None):
        lacking = "--cluster" if workload else "--workload" if cluster else ""
        missing = f"; {lacking} is missing" if lacking else ""
        raise click.UsageError(f"expected a FILE, or --workload and --cluster{missing}")
    if file is not None and workload is not None:
        raise click.UsageError(f"expected {file} or --workload {workload}, not both")
    known = Known("workload", workload or "") if file is None else recognise(file)
    own = [name for name in options if name != "ignore_memory"]
    given = [name for name in own if _is_given(context, name)]
    if given and not known.needs_cluster:
        flag = f"--{given[0].replace('_', '-')}"
        raise click.UsageError(f"{flag} goes with a workload; {known.name} is {known.called}")
    if cluster is None or not known.needs_cluster:
        return of_known(known, cluster, settings)
    from yantra.scenario.on_cluster import on_cluster

    named = {kind: options.pop(kind) for kind in _KINDS}
    algorithms = {kind: tuple(names.split(",")) for kind, names in named.items() if names}
    return on_cluster(
        workload_of(known), cluster, algorithms=algorithms, settings=settings, **options
    )


def _carried(settings: Settings, source: str | None, cluster: str | None) -> Settings:
    """With the compute model that carries recordings from `--from`."""
    if source is None:
        return settings
    if cluster is None:
        raise click.UsageError("--from goes with --cluster, which names where kernels go")
    from yantra.compute.retarget.gpus import gpu_named

    gpu_named(source, "--from")
    given = [name for name in settings if name.startswith(_COMPUTE)]
    if given:
        raise click.UsageError(f"--from chooses the compute model; leave out --set {given[0]}")
    return {**settings, _COMPUTE: {"kind": "retargeted", "options": {"from": source}}}


_COMPUTE = "cluster.device.compute"
_POWER = "cluster.machine.power"
_TEXT_ALONE = "--hot-links prints text; with --json use --csv and --table link_flows"


def _is_given(context: click.Context, name: str) -> bool:
    return context.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE
