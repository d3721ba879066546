"""`chakra_converter`: upstream's conversion of PyTorch traces and text workloads."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from yantra.cli import guarded

if TYPE_CHECKING:
    from collections.abc import Callable

    from yantra.chakra import Trace

PROGRAM = "chakra_converter"
_OLD_FLAGS = """
until July 2024: --input_type Text|PyTorch --input_filename FILE --output_filename FILE
[--num_npus N --num_passes N] [--num_dims N] [--log_filename FILE]; with --num_dims the collectives
of a text workload say which dimensions they use
"""


def main() -> int:
    return guarded(lambda: run(sys.argv[1:]), json=False)


def run(arguments: list[str]) -> int:
    is_old = any(word.partition("=")[0] == "--input_type" for word in arguments)
    parser = _old_parser() if is_old else _parser()
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
    parser = argparse.ArgumentParser(
        PROGRAM, description="Make Chakra traces for simulators.", epilog=_OLD_FLAGS
    )
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


def _old_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(PROGRAM, description="Make Chakra traces for simulators.")
    parser.add_argument("--input_type", required=True, type=_old_type, dest="convert")
    parser.add_argument("--input_filename", required=True, dest="input")
    parser.add_argument("--output_filename", required=True, dest="output")
    parser.add_argument("--num_npus", type=int)
    parser.add_argument("--num_passes", type=int)
    parser.add_argument("--num_dims", type=int)
    parser.add_argument("--log_filename", default="debug.log")
    parser.add_argument("--simulate", action="store_true")
    parser.add_argument("--compat", choices=["upstream"])
    return parser


def _old_type(name: str) -> Callable[[argparse.Namespace], list[str]]:
    if name == "FlexFlow":
        raise argparse.ArgumentTypeError("traces of FlexFlow are not read; upstream dropped them")
    if name not in _OLD_TYPES:
        raise argparse.ArgumentTypeError(f"expected {' or '.join(_OLD_TYPES)}, got {name!r}")
    return _OLD_TYPES[name]


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
    from yantra.base.errors import ConfigError
    from yantra.workloads.importers.layer_text import convert_upstream

    npus, passes = options.num_npus, options.num_passes
    for flag, value in (("--num_npus", npus), ("--num_passes", passes)):
        if value is None:  # the flags of today are required by their parser
            raise ConfigError(flag, "is missing; a text workload needs it")
    dims = getattr(options, "num_dims", None)
    convert_upstream(options.input, options.output, npus, passes, dims)
    return []


_OLD_TYPES = {"Text": _text, "PyTorch": _torch}


def _simulated(trace: Trace) -> list[str]:
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
    import os

    from yantra.base.output import write_text

    if os.path.isfile(path) or not os.path.exists(path):
        write_text(path, "".join(f"{line}\n" for line in lines))
