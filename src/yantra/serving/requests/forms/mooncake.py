"""Mooncake's traces: times in ms, and the hash of each block of 512 tokens of the prompt.

Source: github.com/kvcache-ai/Mooncake, FAST25-release; Qin et al., "Mooncake", FAST 2025, section
4. Each block is one span.
"""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING

import numpy as np

from yantra.serving.requests.forms.form import Columns, Form, spans_of
from yantra.serving.requests.types import LEFT_OUT

if TYPE_CHECKING:
    from yantra.serving.requests.cells import Cells

BLOCK = 512
"""Tokens of a block."""


class Mooncake(Form):
    """An object a line."""

    needs = {  # noqa: RUF012
        "arrival_ns": ("timestamp",),
        "prompt": ("input_length",),
        "output": ("output_length",),
    }
    may = {"spans": ("hash_ids",)}  # noqa: RUF012
    unit_ns = 10**6

    def block(self, cells: Cells) -> Columns:
        found = super().block(cells)
        if "spans" not in self.names:
            return found
        name = self.names["spans"]
        hashes = [ids or () for ids in cells.values(name)]
        expected = f"a list of numbers from 0 to 2^61, one for {BLOCK} tokens at most"
        kinds = set(map(type, hashes))
        if not kinds <= {list, tuple}:
            row = next(i for i, ids in enumerate(hashes) if not isinstance(ids, list | tuple))
            raise cells.wrong(row, name, expected, hashes[row])
        counts = np.array(list(map(len, hashes)), np.int64)
        too_many = counts > -(-found["prompt"] // BLOCK)
        flat = list(chain.from_iterable(hashes))
        if too_many.any() or not set(map(type, flat)) <= {int} or not _fit(flat):
            for row, ids in enumerate(hashes):
                if too_many[row] or not all(type(one) is int and _fit([one]) for one in ids):
                    raise cells.wrong(row, name, expected, ids)
        start = spans_of(counts)
        owner = np.repeat(np.arange(len(counts)), counts)
        end = (np.arange(len(flat)) - start[owner] + 1) * BLOCK
        found["span_count"] = counts
        found["span_source"] = np.array(flat, np.int64)
        found["span_end"] = np.minimum(end, found["prompt"][owner])
        return found


def _fit(sources: list[int]) -> bool:
    return not sources or 0 <= min(sources) <= max(sources) < LEFT_OUT


PLUGIN = Mooncake
