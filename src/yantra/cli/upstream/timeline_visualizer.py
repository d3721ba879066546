"""`chakra_timeline_visualizer`: upstream's timeline of a simulator's node log,

in microseconds; `--compat upstream` writes milliseconds.
"""

from __future__ import annotations

import argparse
import sys

from yantra.cli import guarded

PROGRAM = "chakra_timeline_visualizer"


def main() -> int:
    return guarded(lambda: run(sys.argv[1:]), json=False)


def run(arguments: list[str]) -> int:
    from yantra.base.errors import ConfigError
    from yantra.base.output import write_text
    from yantra.tracing.inspect.timeline.node_log import read_log
    from yantra.tracing.inspect.timeline.upstream import megahertz, upstream_json

    options = _parser().parse_args(arguments)
    mhz = megahertz(options.npu_frequency, "--npu_frequency")
    executions = read_log(options.input_filename)
    highest = max(item.rank for item in executions)
    if options.num_npus <= highest:
        raise ConfigError("--num_npus", f"is {options.num_npus}, but the log has NPU {highest}")
    text = upstream_json(executions, options.num_npus, mhz, milliseconds=options.compat is not None)
    write_text(options.output_filename, text)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(PROGRAM, description="Turn a node log into a timeline.")
    parser.add_argument("--input_filename", required=True, help="the log")
    parser.add_argument("--output_filename", required=True, help="the timeline to write (JSON)")
    parser.add_argument("--num_npus", type=int, required=True, help="number of NPUs")
    parser.add_argument("--npu_frequency", required=True, help="in MHz, or as 1.5GHz")
    parser.add_argument("--log_filename", default="debug.log", help="not used")
    parser.add_argument("--compat", choices=["upstream"], help="give upstream's output")
    return parser
