"""`chakra_generator`: upstream's synthetic traces, byte for byte, in the current folder."""

from __future__ import annotations

import argparse
from pathlib import Path

from yantra.cli import guarded


def main() -> int:
    return guarded(_run, json=False)


def _run() -> int:
    parser = argparse.ArgumentParser(
        prog="chakra_generator", description="Writes small synthetic Chakra execution traces."
    )
    parser.add_argument("--num_npus", type=int, default=64, help="number of NPUs")
    parser.add_argument("--default_runtime", type=int, default=5, help="microseconds of a node")
    parser.add_argument("--default_tensor_size", type=int, default=1024, help="bytes of a tensor")
    parser.add_argument("--default_comm_size", type=int, default=65536, help="bytes of a message")
    parser.add_argument(
        "--num_dims", type=int, help="no effect: a collective runs over all dimensions, as it did"
    )
    asked = parser.parse_args()
    from yantra.chakra.generator import Sizes, generate

    sizes = Sizes(asked.default_runtime, asked.default_tensor_size, asked.default_comm_size)
    for case in generate(asked.num_npus, sizes, compat="upstream"):
        case.write(Path())
    return 0
