"""`yantra astra-sim`: takes ASTRA-sim's command line and prints ASTRA-sim's lines."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from yantra.astra_sim import flags as options
from yantra.astra_sim import from_flags
from yantra.astra_sim.flags import Flags, parse
from yantra.base import trust
from yantra.base.errors import ConfigError
from yantra.base.memory import limited
from yantra.cli import warn
from yantra.scenario import Scenario
from yantra.scenario.quirks import OF_SEMANTICS
from yantra.scenario.quirks import parse as parse_quirks

if TYPE_CHECKING:
    from collections.abc import Sequence

    from yantra.compile import Model
    from yantra.result import Result
    from yantra.scenario.types import Fold

PROGRAM = "yantra astra-sim"
_FILES = """--workload-configuration=step \\
    --system-configuration=system.json \\
    --network-configuration=network.yml \\
    --remote-memory-configuration=memory.json"""
EXAMPLES = (
    f"yantra astra-sim {_FILES}",
    f"yantra astra-sim {_FILES} \\\n    --network-backend=congestion-aware --json",
)


def main(arguments: Sequence[str]) -> int:
    flags = parse(arguments)
    if flags.help:
        sys.stdout.write(help_text())
        return 0
    trust.say_option()
    with limited(flags.memory_limit):
        if not flags.plugins:
            return _main(flags)
        from yantra.kinds import plugged_in

        trust.allow(*flags.plugins)
        with plugged_in(flags.plugins):
            return _main(flags)


def _main(flags: Flags) -> int:
    try:
        scenario, warnings = scenario_of(flags)
        if not flags.json:
            warn(warnings)
        return _run(scenario, flags, warnings)
    except ConfigError as error:
        from yantra.astra_sim.places import in_files

        files = {"network": flags.network, "system": flags.system, "memory": flags.memory}
        raise in_files(error, files) from None


def help_text() -> str:
    from textwrap import indent

    examples = indent("\n".join(EXAMPLES), "  ")
    return f"{options.help_text(PROGRAM)}\nExamples:\n{examples}\n"


def scenario_of(flags: Flags) -> tuple[Scenario, list[str]]:
    """Return a command line's scenario, and warnings."""
    scenario, warnings = from_flags(flags)
    if flags.logging_configuration != "empty":
        warnings.append(
            "--logging-configuration: ignored; log.log and err.log are written as without it"
        )
    if flags.quirks:
        scenario = scenario.replace(quirks=_with_quirks(flags))
    return scenario, warnings


def _with_quirks(flags: Flags) -> frozenset[str]:
    names = {quirk.value for quirk in OF_SEMANTICS[flags.semantics]}
    for name, on in flags.quirks:
        parse_quirks(frozenset({name}), "--semantics-quirk")
        (names.add if on else names.discard)(name)
    return frozenset(names)


def _run(scenario: Scenario, flags: Flags, warnings: list[str]) -> int:
    from yantra.compile import compile
    from yantra.export import astra_sim_log, log_folder

    if flags.trace:
        from yantra.cli.timeline_options import form_of

        form_of(flags.trace)
    model = compile(scenario)
    if not flags.json:
        warn(model.warnings)
    # The log tells which rank finishes first in a tick, which folding does not know.
    result = _simulate(model, "require" if flags.fold == "require" else "off", flags)
    if not flags.json:
        warn(result.run_warnings)
    lines = list(astra_sim_log.lines(result))
    now = astra_sim_log.stamp()
    log_folder.write(flags.logging_folder, (line.text(now) for line in lines))
    if scenario.track_local_memory:
        from yantra.export.local_memory_trace import write_traces

        write_traces(result)
    if flags.logical_topology:
        from yantra.export import ns3_files

        ns3_files.write(result, flags.network)
    _write_files(result, flags)
    if flags.json:
        from yantra.export.json import json_text
        from yantra.result.table_names import TABLES

        tables = (*("ranks", "dimensions", "links"), *(result.tables[len(TABLES) :]))
        sys.stdout.write(json_text(result, tables, warnings))
    else:
        sys.stdout.writelines(f"{line}\n" for line in astra_sim_log.banner(result))
        sys.stdout.write("".join(f"{line.text(now)}\n" for line in lines if line.level != "debug"))
    return 0


def _simulate(model: Model, fold: Fold, flags: Flags) -> Result:
    if not (flags.report or flags.trace):
        from yantra.run.simulate import run

        return run(model, fold=fold)
    from yantra.cli import recording

    return recording.run(model, None, True, progress=None, fold=fold)


def _write_files(result: Result, flags: Flags) -> None:
    if flags.csv:
        result.to_csv(flags.csv, flags.table)
    if flags.report:
        result.to_report(flags.report)
    if flags.trace:
        from yantra.cli import timeline_options

        timeline_options.write(result, flags.trace, None, None)
