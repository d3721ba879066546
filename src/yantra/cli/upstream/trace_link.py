"""`chakra_trace_link`: upstream's linking.

`--compat upstream` gives upstream's output.
"""

from __future__ import annotations

import argparse
import sys

from yantra.cli import guarded

PROGRAM = "chakra_trace_link"


def main() -> int:
    return guarded(lambda: run(sys.argv[1:]), json=False)


def run(arguments: list[str]) -> int:
    options = _parser().parse_args(arguments)
    quiet = options.log_level.upper() in ("WARNING", "ERROR", "CRITICAL")
    if options.compat:
        from yantra.tracing.pytorch.upstream.link import write_linked

        write_linked(options.host, options.device, options.output_file)
    else:
        _link(options, quiet)
    if not quiet:
        sys.stderr.write(f"Linking process successful. Output is in {options.output_file}.\n")
    return 0


def _link(options: argparse.Namespace, quiet: bool) -> None:
    from yantra.cli import warn
    from yantra.tracing.pytorch import linked_file
    from yantra.tracing.pytorch.link import link_files, summary

    linked = link_files(options.host, options.device, options.rank)
    linked_file.write(linked, options.output_file)
    if not quiet:
        sys.stderr.write("".join(f"{line}\n" for line in summary.lines(linked)))
    warn(summary.warnings(linked.report))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(PROGRAM, description="Link host and device traces.")
    parser.add_argument("--rank", type=int, help="the rank of the traces, if they do not state it")
    parser.add_argument(
        "--chakra-host-trace",
        "--pytorch-et-file",
        dest="host",
        metavar="FILE",
        required=True,
        help="the host trace",
    )
    parser.add_argument(
        "--chakra-device-trace",
        "--kineto-file",
        dest="device",
        metavar="FILE",
        required=True,
        help="the device trace (Kineto)",
    )
    parser.add_argument("--output-file", required=True, help="the linked trace to write")
    parser.add_argument("--log-level", default="INFO", help="INFO, WARNING, ...")
    parser.add_argument("--compat", choices=["upstream"], help="give upstream's output")
    return parser
