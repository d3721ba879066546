"""deepep: all-to-alls of experts as DeepEP's dispatch and combine, from measured kernels.

A token goes in FP8 once to each node with one of its experts, and returns in 16 bits
(`yantra.collectives.deepep`). A trace has all copies of all tokens in 16 bits, dispatch or combine:
each takes half of the pair's time, exact unless a step overlaps only one. `others` chooses other
collectives, else the scenario.

Trade-off: as with `measured`, one phase without messages; its bytes, both directions' mean, are
charged afterwards.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from typing import Any, Literal

import numpy as np

from yantra.base.errors import ConfigError
from yantra.base.fields import Choice as Name
from yantra.base.fields import PluginChoice, PluginField, Quantity, Section, Text, Whole
from yantra.base.fields.scalars import Schema
from yantra.base.records import Record
from yantra.collectives.deepep.constants import LINKS, fit_of
from yantra.collectives.deepep.law import DIRECTIONS, Kernels, bytes_of, exchange, time_us
from yantra.collectives.selection import selection_of, selections
from yantra.collectives.selection.selection import Choice, Group, Selection, Timed

_SIZES = tuple(sorted({round(2 ** (k / 2)) for k in range(12, 88)}))  # 64 B to 8 TiB
_ROW = 2  # bytes of an element in a trace
Dtype = Literal["fp8", "bf16"]


class Options(Record):
    gpu: str
    hidden: int
    top_k: int
    experts: int
    kernels: Kernels = "normal"
    sms: int = 20
    dispatch: Dtype = "fp8"
    combine: Dtype = "bf16"
    nodes: int = 0
    ranks: int = 0
    adapter_bytes_per_ns: float = 50.0
    others: PluginChoice | None = None


class _Others(PluginField):
    def schema(self) -> Schema:
        return {"anyOf": [{"type": "string"}, {"type": "object", "required": ["kind"]}]}


class DeepEP(Selection):
    options = Section(
        Options,
        {
            "gpu": ("gpu", Text(), "GPU whose kernels were measured: h100_sxm, h200_sxm, b200_sxm, "
                    "gb200, gb300"),
            "hidden": ("hidden", Whole(at_least=1), "elements of a token"),
            "top_k": ("top_k", Whole(at_least=1, at_most=1024), "experts of a token"),
            "experts": ("experts", Whole(at_least=1), "experts of all ranks together"),
            "kernels": ("kernels", Name(Kernels), "normal, elastic (the second version), or of "
                        "low latency, which send a token to each of its experts"),
            "sms": ("sms", Whole(at_least=1), "SMs that the kernels run on; not for low_latency"),
            "dispatch": ("dispatch", Name(Dtype), "type in which tokens go to the experts"),
            "combine": ("combine", Name(Dtype), "type in which results come back"),
            "nodes": ("nodes", Whole(at_least=0), "nodes that routing is limited to; 0: any"),
            "ranks": ("ranks", Whole(at_least=0), "size of the groups whose all-to-alls are those "
                      "of experts; 0: any"),
            "adapter": (
                "adapter_bytes_per_ns",
                Quantity("bandwidth", "GB/s", above=0),
                "bandwidth of a rank to other nodes",
            ),
            "others": ("others", _Others(selections), "the selection of all other collectives"),
        },
    )  # fmt: skip

    def choices(self, kind: str, group: Group) -> Sequence[Choice]:
        given: Options = self.given
        _check(given)
        if kind != "all_to_all" or given.ranks not in (0, group.ranks):
            return [] if given.others is None else selection_of(given.others).choices(kind, group)
        if group.ranks < 2:
            return []
        local = max(1, min(group.local, group.ranks))
        sizes = np.array(_SIZES, np.float64)
        free = any(link.free_bytes for link in group.links)
        at_once = any(link.free_latency for link in group.links)
        of = exchange(
            tokens=sizes / (_ROW * given.hidden * given.top_k),
            hidden=given.hidden, top_k=given.top_k, experts=given.experts, ranks=group.ranks,
            local=local, sms=given.sms, link=inf if free else LINKS[given.gpu],
            adapter=inf if free else given.adapter_bytes_per_ns,
            limit=given.nodes,
        )  # fmt: skip
        pair: Any = 0.0
        near = far = 0.0
        for one in DIRECTIONS:
            constants = fit_of(given.gpu, given.kernels, one).constants
            if at_once:
                constants = constants._replace(c=0.0, g=0.0, sync=0.0)
            pair = pair + time_us(constants, of, getattr(given, one), given.kernels)
            sent = bytes_of(of, getattr(given, one), given.kernels)
            near += float(sent.nvlink[-1] / sizes[-1]) / 2
            far += float(sent.rdma[-1] / sizes[-1]) / 2
        points = zip(_SIZES, np.asarray(pair) * 500.0, strict=True)
        basis = f"dispatch and combine of DeepEP ({given.kernels}) measured on {given.gpu}"
        if group.ranks > local:
            basis += ", over nodes " + (
                "as on h100_sxm" if given.kernels == "normal" else "from kernels of low latency"
            )
        made = Timed(
            tuple((size, float(ns)) for size, ns in points),
            basis,
            interval=max(
                fit_of(given.gpu, given.kernels, one).interval(group.ranks / local)
                for one in DIRECTIONS
            ),
            runs=((0, f"DeepEP {given.kernels}"),),
            once=far * group.ranks / (group.ranks - local) if group.ranks > local else 1.0,
            near=near * group.ranks / (local - 1) if local > 1 else 1.0,
            follows_links=bool(group.links),
        )
        return [Choice(0, made)]

    def sms(self, kind: str) -> int | None:
        given: Options = self.given
        if kind == "all_to_all" and given.kernels != "low_latency":
            return given.sms
        return None if given.others is None else selection_of(given.others).sms(kind)


def _check(given: Options) -> None:
    where = "collectives.selection.options"
    fit_of(given.gpu, given.kernels, "dispatch", f"{where}.gpu")
    if given.top_k > given.experts:
        problem = f"expected at most the {given.experts} experts there are, got {given.top_k}"
        raise ConfigError(f"{where}.top_k", problem)


PLUGIN = DeepEP
