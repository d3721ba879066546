"""What to make: model, sizes and degrees of parallelism, by STG's flags."""

from __future__ import annotations

from collections.abc import Mapping

from yantra.base.errors import ConfigError, did_you_mean
from yantra.base.records import Record
from yantra.workloads.importers.stg.units import DTYPE_BYTES, Units

MODEL_TYPES = {
    "gpt": "multi-head attention, a network of two matrices",
    "llama": "grouped key-value heads, a gated network of three matrices",
    "dense": "the same as llama",
    "moe": "grouped key-value heads, a router and experts of two matrices",
    "prefilling": "the forward pass over a prompt, without micro-batches",
    "decoding": "the forward pass of one token with its cache, without micro-batches",
    "own": "what an assembly of your own sheets says",
}
INFERENCE_TYPES = ("prefilling", "decoding")


class Settings(Record):
    """`sp` is context parallelism (the symbol cp). `batch` and `micro_batch` are over all ranks,
    before dividing by `dp`; None is one micro-batch.
    """

    model_type: str = "dense"
    dp: int = 1
    tp: int = 1
    sp: int = 1
    ep: int = 1
    pp: int = 1
    weight_sharded: bool = False
    """Shard layers' weights and gradients over dp (FSDP)."""
    tpsp: bool = True
    """Split the sequence over tp outside of matrix products."""
    mixed_precision: bool = False
    """Only in units `stg`, where it decides upstream which model is a llama."""
    dvocal: int = 32000
    dmodel: int = 8192
    dff: int = 28672
    batch: int = 64
    micro_batch: int | None = None
    seq: int = 1024
    head: int = 64
    kvhead: int = 8
    num_stacks: int = 80
    experts: int = 8
    kexperts: int = 2
    din: int | None = None
    """Rows of an inference model's embedding; None is dvocal."""
    dout: int | None = None
    """Columns of an inference model's head; None is dvocal."""
    layer_each_stage: int | None = None
    """Layers of an inference model's slice; None makes equal slices."""
    symbols: Mapping[str, int] = {}
    """Symbols of your own sheets."""
    units: Units = "yantra"
    dtype: str = "bf16"
    gradient_dtype: str = "fp32"

    def __post_init__(self) -> None:
        if self.model_type not in MODEL_TYPES:
            hint = did_you_mean(self.model_type, MODEL_TYPES)
            problem = f"expected one of {', '.join(MODEL_TYPES)}, got '{self.model_type}'{hint}"
            raise ConfigError("model_type", problem)
        for name in self.field_names:
            value = getattr(self, name)
            if type(value) is int and value < 1:
                raise ConfigError(name, f"expected at least 1, got {value}")
        for name, value in self.symbols.items():
            if value < 1:
                raise ConfigError(f"symbols.{name}", f"expected at least 1, got {value}")
        for name in ("dtype", "gradient_dtype"):
            if getattr(self, name) not in DTYPE_BYTES:
                expected = f"expected one of {', '.join(DTYPE_BYTES)}"
                raise ConfigError(name, f"{expected}; got '{getattr(self, name)}'")
        if self.units not in ("yantra", "stg"):
            raise ConfigError("units", f"expected yantra or stg, got '{self.units}'")
        if self.batch % (self.micro_batch or self.batch):
            problem = f"expected a divisor of the batch, {self.batch}; got {self.micro_batch}"
            raise ConfigError("micro_batch", problem)
        self._check_model()

    def _check_model(self) -> None:
        if self.is_inference and self.micro_batch not in (None, self.batch):
            raise ConfigError("micro_batch", f"{self.model_type} has no micro-batches")
        if self.is_inference and self.ep > 1:
            raise ConfigError("ep", f"{self.model_type} has no experts; use tp")
        if self.model_type == "moe" and not self.tpsp:
            raise ConfigError("tpsp", "moe needs it; there are no sheets without it")
        if self.model_type == "moe" and self.experts % self.ep:
            raise ConfigError(
                "ep", f"expected a divisor of the {self.experts} experts; got {self.ep}"
            )

    @property
    def is_inference(self) -> bool:
        return self.model_type in INFERENCE_TYPES

    @property
    def family(self) -> str:
        """As upstream, units `stg` make a gpt of a llama without mixed precision."""
        if self.model_type not in ("llama", "dense"):
            return self.model_type
        return "gpt" if self.units == "stg" and not self.mixed_precision else "llama"

    @property
    def splits_sequence(self) -> bool:
        return self.tpsp or (self.units == "stg" and self.family == "llama")

    @property
    def micro_batches(self) -> int:
        return 1 if self.micro_batch is None else self.batch // self.micro_batch

    @property
    def axes(self) -> tuple[tuple[str, int], ...]:
        """Axes of ranks and their sizes, the first the fastest, without the pipeline."""
        if self.is_inference:
            return ("dp", self.dp), ("tp", self.tp), ("sp", self.sp)
        if self.family in ("moe", "own"):
            return ("dp", self.dp), ("tp", self.tp), ("cp", self.sp), ("ep", self.ep)
        return ("dp", self.dp), ("tp", self.tp * self.ep), ("cp", self.sp)

    @property
    def values(self) -> dict[str, int]:
        return {
            "Dvocal": self.dvocal,
            "Dmodel": self.dmodel,
            "Dff": self.dff,
            "Batch": self.batch,
            "MicroBatch": self.micro_batch or self.batch,
            "Seq": self.seq,
            "Head": self.head,
            "KVHead": self.kvhead,
            "Experts": self.experts,
            "KExperts": self.kexperts,
            "Din": self.din or self.dvocal,
            "Dout": self.dout or self.dvocal,
            "ep": 1,
            "pp": self.pp,
            **dict(self.axes),
            **self.symbols,
        }
