"""A recorded run -> fct.txt of ns-3: a line per message, at its arrival.

    source destination source-port destination-port bytes start-ns duration-ns duration-alone-ns

Addresses are 11.0.0.1 + 65536 (id / 256) + 256 (id mod 256), in hexadecimal.

Source: github.com/alibaba-edu/High-Precision-Congestion-Control, simulation/scratch/third.cc.
"""

from __future__ import annotations

from collections import Counter

from yantra.base.output import whole_file
from yantra.result import Result

NAME = "fct.txt"

_FIRST_ADDRESS, _FIRST_PORT, _PORT = 0x0B000001, 10000, 100


def write(result: Result, path: str) -> None:
    table = result.recording.messages
    columns = [
        table.values(name)
        for name in ("arrived_ns", "sent_ns", "source", "destination", "bytes", "queued_ns")
    ]
    ports: Counter[tuple[int, int]] = Counter()
    with whole_file(path) as name, open(name, "w", encoding="ascii") as file:
        for arrived, sent, source, destination, size, queued in sorted(zip(*columns, strict=True)):
            if source == destination:
                continue
            port = _FIRST_PORT + ports[source, destination] % (2**16 - _FIRST_PORT)
            ports[source, destination] += 1
            took, start = round(arrived - sent), round(sent)
            file.write(
                f"{_address(source):08x} {_address(destination):08x} {port} {_PORT} {size} "
                f"{start} {took} {max(round(took - queued), 0)}\n"
            )


def _address(rank: int) -> int:
    return _FIRST_ADDRESS + rank // 256 * 0x10000 + rank % 256 * 0x100
