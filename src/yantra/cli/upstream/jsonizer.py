"""`chakra_jsonizer`: a trace to JSON text, with upstream's flags."""

from __future__ import annotations

import argparse

from yantra.cli import guarded


def main() -> int:
    return guarded(_run, json=False)


def _run() -> int:
    parser = argparse.ArgumentParser(
        prog="chakra_jsonizer", description="Turns a Chakra execution trace into JSON text."
    )
    parser.add_argument("--input_filename", required=True, help="the trace")
    parser.add_argument("--output_filename", required=True, help="the JSON text to write")
    asked = parser.parse_args()
    from yantra import chakra

    chakra.write_json(chakra.read(asked.input_filename), asked.output_filename)
    return 0
