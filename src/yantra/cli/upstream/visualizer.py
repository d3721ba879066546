"""`chakra_visualizer`: upstream's drawing of a trace.

Any other extension is an error.
"""

from __future__ import annotations

import argparse
import sys

from yantra.cli import guarded

PROGRAM = "chakra_visualizer"


def main() -> int:
    return guarded(lambda: run(sys.argv[1:]), json=False)


def run(arguments: list[str]) -> int:
    from yantra.chakra import read
    from yantra.tracing.inspect.draw import draw, format_of

    parser = argparse.ArgumentParser(PROGRAM, description="Draw the graph of a Chakra trace.")
    parser.add_argument("--input_filename", required=True, help="the trace (.et)")
    parser.add_argument(
        "--output_filename", required=True, help="the picture: .pdf, .dot, .svg or .graphml"
    )
    options = parser.parse_args(arguments)
    format_of(options.output_filename)
    drawn = draw(read(options.input_filename), options.output_filename, plain=True)
    sys.stderr.write(f"{options.output_filename}: {drawn}\n")
    return 0
