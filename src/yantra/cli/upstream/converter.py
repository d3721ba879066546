"""`chakra_converter`: upstream's command line for converting PyTorch traces and text workloads.

`--compat upstream` gives upstream's output; without it PyTorch traces are converted rightly.
"""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from yantra.cli import guarded

if TYPE_CHECKING:
    from yantra.chakra import Trace

PROGRAM = "chakra_converter"


def main() -> int:
    """Run the command line of this process."""
    return guarded(lambda: run(sys.argv[1:]), json=False)


def run(arguments: list[str]) -> int:
    """Run the command; without a subcommand it prints its help, as upstream's does."""
    parser = _parser()
    options = parser.parse_args(arguments)
    if "convert" not in options:
        parser.print_help()
        return 0
    lines: list[str] = options.convert(options)
    lines.append(f"INFO Conversion successful. Output file is available at {options.output}.")
    sys.stderr.write(f"{lines[-1]}\n")
    _log(options.log_filename, lines)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(PROGRAM, description="Make Chakra traces for simulators.")
    parser.add_argument("--log-filename", default="debug.log", help="file for messages")
    sources = parser.add_subparsers(title="subcommands", help="what to convert")
    torch = sources.add_parser("PyTorch", help="a linked PyTorch trace, or a host trace")
    torch.add_argument("--input", required=True, help="the trace (JSON)")
    torch.add_argument("--output", required=True, help="the Chakra trace to write (.et)")
    torch.add_argument("--simulate", action="store_true", help="replay it and log the times")
    torch.set_defaults(convert=_torch)
    text = sources.add_parser("Text", help="a text workload of ASTRA-sim 1.0")
    text.add_argument("--input", required=True, help="the workload")
    text.add_argument("--output", required=True, help="the traces to write: OUTPUT.<npu>.et")
    text.add_argument("--num-npus", type=int, required=True, help="how many traces to write")
    text.add_argument("--num-passes", type=int, required=True, help="training iterations")
    text.set_defaults(convert=_text)
    for source in (torch, text):
        source.add_argument("--compat", choices=["upstream"], help="give upstream's output")
    return parser


def _torch(options: argparse.Namespace) -> list[str]:
    if options.compat:
        from yantra.tracing.pytorch.upstream.convert import convert

        trace = convert(options.input)
    else:
        from yantra.tracing.pytorch.convert import convert_linked
        from yantra.tracing.pytorch.sources import load

        trace = convert_linked(load(options.input))
    trace.write(options.output)
    return _simulated(trace) if options.simulate else []


def _text(options: argparse.Namespace) -> list[str]:
    from yantra.workloads.importers.layer_text import convert_upstream

    convert_upstream(options.input, options.output, options.num_npus, options.num_passes)
    return []


def _simulated(trace: Trace) -> list[str]:
    """Replay a trace; return the lines for the log, the last of which is also printed."""
    from yantra.tracing.pytorch.upstream.simulate import simulate

    lines = []
    end = 0
    for event in simulate(trace):
        end = event.at
        did = "Issuing" if event.starts else "Completed"
        lane = "CPU" if event.stream is None else f"stream {event.stream}"
        lines.append(f"DEBUG {did} node {event.node} ({event.name}) at {event.at}us, {lane}")
    lines.append(f"INFO Simulated: {end} us on one CPU and one op per stream.")
    sys.stderr.write(f"{lines[-1]}\n")
    return lines


def _log(path: str, lines: list[str]) -> None:
    """Write the log, unless its name is that of a device such as /dev/null."""
    import os

    from yantra.base.output import write_text

    if os.path.isfile(path) or not os.path.exists(path):
        write_text(path, "".join(f"{line}\n" for line in lines))
