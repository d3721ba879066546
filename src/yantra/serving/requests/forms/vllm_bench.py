"""The result of `vllm bench serve --save-result --save-detailed`, and SGLang's like it.

Source: vllm/benchmarks/serve.py.
"""

from __future__ import annotations

from itertools import accumulate
from typing import TYPE_CHECKING, Any

import numpy as np

from yantra.base.errors import ConfigError, expected_got
from yantra.serving.requests.cells import Cells
from yantra.serving.requests.forms.form import Columns, Form

if TYPE_CHECKING:
    from collections.abc import Sequence

PLUGIN_NAME = "vllm-bench"


class Bench(Form):
    needs = {  # noqa: RUF012
        "prompt": ("input_lens",),
        "output": ("output_lens",),
        "arrival_ns": ("start_times",),
    }
    measures = {"ttft_s": ("ttfts",), "tpot_s": ("itls",), "end_to_end_s": ("itls",)}  # noqa: RUF012
    is_document = True
    fails = True

    def document(self, tree: list[Any], where: str) -> Columns:
        if len(tree) > 1:
            raise ConfigError(where, f"has {len(tree)} runs; expected one, so take one out")
        (run,) = tree
        lists = {name: _list(run, name, where) for name in set(self.names.values())}
        size = len(lists["input_lens"])
        for name, one in lists.items():
            if len(one) != size:
                problem = f"expected {size} values, as input_lens has, got {len(one)}"
                raise ConfigError(where, f"{name}: {problem}")
        gaps = lists.pop("itls", None)
        cells = Cells(lists.__getitem__, lambda row: f"{where}, request {row}")
        names, self.names = self.names, {k: v for k, v in self.names.items() if v in lists}
        found = self.block(cells)
        self.names = names
        if size:
            found["arrival_ns"] = found["arrival_ns"] - found["arrival_ns"].min()
        if gaps is not None and "ttft_s" in found:
            found |= _from_gaps(cells, gaps, found)
        return found


def _list(run: dict[str, Any], name: str, where: str) -> Sequence[Any]:
    values = run[name]
    if not isinstance(values, list):
        raise ConfigError(where, f"{name}: {expected_got('a list', values)}")
    return values


def _from_gaps(cells: Cells, gaps: Sequence[Any], found: Columns) -> Columns:
    whole = [one if isinstance(one, list) else [one] for one in gaps]
    ends = list(accumulate(map(len, whole)))
    flat = [gap for one in whole for gap in one]
    row_of = np.repeat(np.arange(len(whole)), list(map(len, whole)))
    inner = Cells(lambda _: flat, lambda at: cells.place(int(row_of[at])))
    sums = np.concatenate([[0.0], np.cumsum(inner.floats("itls"))])
    total = sums[ends] - sums[[0, *ends[:-1]]]
    steps = found["output"] - 1
    with np.errstate(divide="ignore", invalid="ignore"):
        tpot = np.where(steps > 0, total / steps, np.nan)
    return {"tpot_s": tpot, "end_to_end_s": found["ttft_s"] + total}


PLUGIN = Bench
