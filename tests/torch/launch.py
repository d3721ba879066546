"""Runs the examples of collecting in several processes, with one import of PyTorch for all.

    python launch.py <ranks> <folder> <example.py> ...

The processes are forked before PyTorch has started a thread. Each example's traces go to
`<folder>/<name of the example>`.
"""

from __future__ import annotations

import faulthandler
import os
import socket
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path


def main() -> int:
    ranks, folder, examples = int(sys.argv[1]), Path(sys.argv[2]), sys.argv[3:]
    import torch
    import torch.distributed.fsdp
    import torch.distributed.pipelining
    import torch.distributed.tensor.parallel

    torch.set_num_threads(1)
    return max(_run(example, ranks, folder / Path(example).stem) for example in examples)


def _run(example: str, ranks: int, folder: Path) -> int:
    port = _free_port()
    children = []
    for rank in range(ranks):
        child = os.fork()
        if not child:
            os.environ |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
            os.environ |= {"RANK": str(rank), "WORLD_SIZE": str(ranks)}
            os._exit(_run_rank(example, folder))
        children.append(child)
    return max(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) & 255 for child in children)


def _run_rank(example: str, folder: Path) -> int:
    faulthandler.dump_traceback_later(60, exit=True)  # a rank that waits for ever says where
    try:
        spec = spec_from_file_location(Path(example).stem, example)
        assert spec is not None and spec.loader is not None
        module = module_from_spec(spec)
        spec.loader.exec_module(module)
        module.main(str(folder))
    except BaseException:
        import traceback

        traceback.print_exc()
        return 1
    return 0


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


if __name__ == "__main__":
    sys.exit(main())
