"""What a compute model is: a column of durations for a column of kernels.

Trade-off: a kernel alone, not what runs beside or before it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple

from yantra.base.fields import Section
from yantra.base.records import Record

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    Wholes = NDArray[np.int64]
    Reals = NDArray[np.float64]

Need = Literal["flops", "bytes", "peak", "memory_bandwidth"]


class Device(NamedTuple):
    peak_flops: float
    memory_bytes_per_s: float


class Kernels(Record):
    """Distinct kernels, as columns of equal length; sizes that a trace does not say are 0.

    `op_class`, `dtype`, `phase`: places in the names beside them. `flops`, `bytes`: operations, and
    memory traffic. A product is `m`, `n`, `k` and a `batch`; `accumulated`, `stored`: bytes of what
    its result is added to, and of a weight stored in fewer bits. A norm or softmax has `m` rows.
    Experts: `inner` width, `experts` on all devices, `top_k`, `skew` (hundredths of an exponent).
    Attention: `queries`, `keys`, `heads` of `head_dim` (`value_dim`), `kv_heads`, `window`,
    `cache_bits`.

    `count` is over all ranks; whole numbers are signed.
    """

    op_class: NDArray[np.uint32]
    op_classes: tuple[str, ...]
    dtype: NDArray[np.uint32]
    dtypes: tuple[str, ...]
    phase: NDArray[np.uint32]
    phases: tuple[str, ...]
    flops: Wholes
    bytes: Wholes
    recorded_ns: Wholes
    batch: Wholes
    m: Wholes
    n: Wholes
    k: Wholes
    heads: Wholes
    kv_heads: Wholes
    head_dim: Wholes
    value_dim: Wholes
    queries: Wholes
    keys: Wholes
    window: Wholes
    cache_bits: Wholes
    accumulated: Wholes
    inner: Wholes
    experts: Wholes
    top_k: Wholes
    skew: Wholes
    stored: Wholes
    count: Wholes

    def __len__(self) -> int:
        """The number of rows."""
        return len(self.flops)

    def take(self, rows: Any) -> Kernels:
        taken: dict[str, Any] = {
            name: part if isinstance(part, tuple) else part[rows]
            for name, part in self.__dict__.items()
        }
        return Kernels(**taken)

    def describe(self, row: int) -> str:
        """A row in words, for errors."""
        name = self.op_classes[int(self.op_class[row])] or "no class"
        return f"row {row} ({name}, {self.flops[row]} FLOPs, {self.bytes[row]} bytes)"


WHOLE_COLUMNS = Kernels.field_names[Kernels.field_names.index("flops") :]
"""Columns of whole numbers: amounts, sizes, the count."""

SIZES = WHOLE_COLUMNS[WHOLE_COLUMNS.index("batch") : -1]
"""A kernel's sizes, named as a trace's attributes."""


def kernels(
    flops: Sequence[int],
    bytes: Sequence[int],
    op_class: Sequence[str] | str = "",
    dtype: Sequence[str] | str = "",
    phase: Sequence[str] | str = "",
    **columns: Sequence[int],
) -> Kernels:
    """Kernels of these columns, by default 0; each row counts once."""
    import numpy as np

    size = len(flops)
    codes, names = _coded([op_class] * size if isinstance(op_class, str) else op_class)
    type_codes, type_names = _coded([dtype] * size if isinstance(dtype, str) else dtype)
    phase_codes, phase_names = _coded([phase] * size if isinstance(phase, str) else phase)
    given = {"flops": flops, "bytes": bytes, "count": [1] * size} | columns
    return Kernels(
        op_class=codes,
        op_classes=names,
        dtype=type_codes,
        dtypes=type_names,
        phase=phase_codes,
        phases=phase_names,
        **{name: np.asarray(given.get(name, [0] * size), np.int64) for name in WHOLE_COLUMNS},
    )


def _coded(texts: Sequence[str]) -> tuple[NDArray[np.uint32], tuple[str, ...]]:
    import numpy as np

    names = tuple(dict.fromkeys(("", *texts)))
    places = {name: at for at, name in enumerate(names)}
    return np.array([places[text] for text in texts], np.uint32), names


class Estimates(NamedTuple):
    """Nanoseconds by row: the middle is simulated, the others bound it."""

    low: Reals
    middle: Reals
    high: Reals

    @classmethod
    def exact(cls, ns: Reals) -> Estimates:
        """Durations without an interval."""
        return cls(ns, ns, ns)


class ComputeModel(ABC):
    """One way to estimate how long kernels take.

    `needs`: what traces and devices must have. `native`: the form the core computes itself.
    `may_beat_the_roofline`: peak and bandwidth bound nothing. `splits_by_rates`: either rate may be
    infinite. `from_recorded`: it scales recorded times, in which all work is. `example`: options
    to check a model with.
    """

    options: ClassVar[Section | None] = None
    needs: ClassVar[tuple[Need, ...]] = ("flops", "bytes", "peak", "memory_bandwidth")
    native: ClassVar[Literal["recorded", "roofline"] | None] = None
    may_beat_the_roofline: ClassVar[bool] = False
    splits_by_rates: ClassVar[bool] = False
    from_recorded: ClassVar[bool] = False
    example: ClassVar[Mapping[str, Any]] = {}

    def __init__(self, options: Any = None) -> None:
        """Keep the options, as the record of `self.options`."""
        self.given = options

    def basis(self, kernels: Kernels, device: Device) -> str:
        """What the estimates rest on, in a few words for a summary."""
        return ""

    @abstractmethod
    def estimate(self, kernels: Kernels, device: Device) -> Estimates:
        """How long each kernel takes on the device, for all rows at once."""
