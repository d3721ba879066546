"""What a framework of post-training does around generation and training: facts of its code.

Trade-off: a copy between device and host has one of three rates, whatever the host's processor is.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

from yantra.base.records import Record
from yantra.fabric.clusters.types import Number

What = Literal["weights", "optimizer", "engine"]
How = Literal["pinned", "pageable", "fresh"]


class Move(NamedTuple):
    """A copy between a device and its host: what moves, and through which memory."""

    what: What
    how: How


class Framework(Record):
    """`refit` is `whole` where every device receives the whole model and keeps its part, `direct`
    where parts go straight to who wants them. `pads`: with a pipeline all micro-batches are padded
    to the longest. `interval` is the half-width, as a logarithm, of 90 % of what it does around.
    """

    name: str
    title: str
    version: str
    stack: str
    """Whose training steps these are: a stack of `yantra stack`."""
    engine: str
    """The host of which engine generates: a file of `yantra.serving.engines`."""
    refit: Literal["whole", "direct"]
    pads: bool
    overlaps: bool
    """Whether rewards start while samples are generated, in a synchronous step."""
    output: Number
    """Host time of a token that its engine, in the framework's process, gives out when synchronous:
    text and log-probability."""
    launch: Number
    """Host time of an operation of an engine without CUDA graphs."""
    experts: tuple[tuple[str, Number], ...]
    """By table of a device, how much longer experts take with the kernels that it sets."""
    logit_bytes: tuple[float, float]
    """Bytes moved for a logit by the loss, and by log-probabilities alone."""
    tensor: Number
    """Host time of a tensor that is exported, sent and loaded."""
    step: Number
    """Time of the controller in a step: batches made, moved to and from workers."""
    fresh: Number
    """Rate of a copy into memory of the host that is taken for it, a device."""
    pageable: Number
    """Rate of a copy from memory of the host that is not pinned, a device."""
    to_training: tuple[Move, ...]
    """Copies of a colocated switch from generation to training."""
    to_generation: tuple[Move, ...]
    again: tuple[Move, ...]
    """Copies between two rounds of sampling, when colocated."""
    reference: tuple[Move, ...]
    """Copies around the log-probabilities of the reference."""
    interval: Number
    sources: tuple[tuple[str, str], ...]
