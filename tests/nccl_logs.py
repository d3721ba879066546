"""Output as nccl-tests print it, made from times."""

from __future__ import annotations

from collections.abc import Sequence

_HEADER = """# nThread 1 nGpus {each} minBytes 1024 maxBytes 1073741824 step: 2(factor)
#
# Using devices
"""
_COLUMNS = """#
#                                                              out-of-place            in-place
#       size         count      type   redop    root     time   algbw   busbw #wrong     time
#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)
"""


def log(
    program: str, times: Sequence[tuple[int, float]], ranks: int = 8, nodes: int = 1,
    *, names: bool = True, suffix: str = "", hosts: bool = True, amd: bool = False,
) -> str:  # fmt: skip
    """Return the output of a program for (bytes, microseconds).

    `names` is the program, with a `suffix` as builds for MPI have; `hosts` those of ranks; `amd`
    prints as rccl-tests do.
    """
    each = ranks // nodes
    called = f"{program}_perf{suffix}"
    lines = ["# nccl-tests version 2.18.3 nccl-headers=23004 nccl-library=23004\n"]
    lines += [f"# Collective test starting: {called}\n"] if names else []
    lines.append(_HEADER.format(each=each))
    if amd:
        lines[-1] = lines[-1].replace("# Using", "rccl-tests: Version develop:448c4c7\n# Using")
    devices = "[0000:{:02x}:00] AMD Instinct MI300X" if amd else "[0x{:x}] NVIDIA H100 80GB HBM3"
    lines += [
        f"#  Rank {rank:2d} Group  0 Pid  {900 + rank} "
        + (f"on   host-{rank // each} " if hosts else "")
        + f"device {rank % each} {devices.format(rank + 10)}\n"
        for rank in range(ranks)
    ]
    lines.append(_COLUMNS)
    lines += [
        f"{size:12d} {size // 4:12d}     float     sum      -1 {us:9.2f}   10.00   17.50      0 "
        f"{us * 1.01:9.2f}   10.00   17.50      0\n"
        for size, us in times
    ]
    lines.append("# Out of bounds values : 0 OK\n# Avg bus bandwidth    : 17.5\n#\n")
    lines += [f"# Collective test concluded: {called}\n"] if names else []
    return "".join(lines)


def prefixed(text: str, prefix: str = "[1,0]<stdout>:") -> str:
    return "".join(f"{prefix}{line}\n" for line in text.splitlines())
