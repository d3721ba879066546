"""The plans of a model on so many ranks, as columns: a number of each field per plan.

Columns follow the rules of `yantra.workloads.plan.check`, as arrays; plans that are shown are
checked by those rules.

Chunks may be uneven, and the embedding and loss may count as layers if stages are then equal; of
equal layouts one is judged.

A search may also switch sequence parallelism and `overlap` (gradients and weights move during
compute); both are on by default. Fields of `LEFT_OPEN` have one value unless a space gives more;
simulation may change them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from itertools import product
from math import gcd
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from yantra.base.divisors import divisors
from yantra.base.errors import ConfigError, did_you_mean, expected_got
from yantra.base.records import Record
from yantra.explore.closed_form.passes import CP_KINDS, RECOMPUTE
from yantra.workloads.operators.scalings import Scaling
from yantra.workloads.plan.check import MOST_PASSES, facts_of, problems
from yantra.workloads.plan.plan import CHOICES, Dispatch, Dtype, OverlapExperts, Plan
from yantra.workloads.plan.precision import MasterDtype, StateDtype
from yantra.workloads.training.adapters import check_adapters
from yantra.workloads.training.step.layers import layer_ranges

if TYPE_CHECKING:
    from yantra.workloads.plan.check import Facts

FIELDS = ("tp", "cp", "ep", "pp", "vpp", "dp", "zero", "micro_batch", "recompute")
_ZERO = (0, 1, 2, 3)
_CHUNK = 2048
"""Tokens that each of the two chunks of a rank has at least, where contexts are not given."""
_MOST_TOKENS = 1 << 17
"""Tokens of a micro-batch on a rank, where none are given; more is no faster for any device."""
_BY_HEADS = "a2a"
_MOST = 2**31 - 1  # as the core counts
GRADIENTS = CHOICES["gradient_dtype"]
FURTHER = ("etp", "cp_kind", "gradient_dtype", "embedding_as_layer", "loss_as_layer")
"""Columns of further fields of a plan; answers show those that a space lets vary."""
NAMES = {"recompute": RECOMPUTE, "gradient_dtype": GRADIENTS, "cp_kind": CP_KINDS}
"""What the numbers of columns stand for that are no numbers in a plan."""
SWITCHES = ("sequence_parallel", "overlap")
"""Columns of 0 and 1 that are on unless a space says otherwise, shown as `FURTHER` are."""
COLUMNS = (*FIELDS, *FURTHER, *SWITCHES)
OFF_OR_ON = ("embedding_as_layer", "loss_as_layer", *SWITCHES)
LEFT_OPEN: Mapping[str, tuple[Any, ...]] = {
    "etp": (1,),
    "cp_kind": ("p2p",),
    "sequence_parallel": (True,),
}
"""Fields whose values columns have where a space says None."""
_PRECISION = (
    "scaling",
    "narrow_weights",
    "transposed_weights",
    "reuse_gradients",
    "master_dtype",
    "exp_avg_dtype",
    "exp_avg_sq_dtype",
)
HELD = (
    "lora_rank", "lora_targets", "dtype", "overlap_experts", "exposed_experts", "dispatch",
    "recompute_modules", "cuda_graphs", "unfused_kernels", "overlap_products", "exposed_gradients",
    *_PRECISION,
)  # fmt: skip
"""Fields that every plan of a space has alike."""
_OF_SWITCHES = {
    "sequence_parallel": ("sequence_parallel",),
    "overlap": ("overlap_gradients", "overlap_parameters"),
}
Columns = dict[str, np.ndarray]


class _Split(NamedTuple):
    """A split of ranks, and its legal batches and switches: rows of numbers."""

    tp: int
    cp: int
    ep: int
    etp: int
    cp_kind: int
    pp: int
    dp: int
    batches: np.ndarray
    switches: np.ndarray


_SPLIT = _Split._fields[:-2]
_BATCH = ("micro_batch", "vpp", "embedding_as_layer", "loss_as_layer")
_SWITCHED = ("zero", "recompute", "gradient_dtype", "sequence_parallel", "overlap")


class PlanSpace(Record):
    """What a search may choose: ranges of fields, None for all legal ones or `LEFT_OPEN`.

    `global_batch` in sequences, `sequence` in tokens, `most_tp` usually a node's ranks. With
    `lora_rank` every plan trains adapters of `lora_targets` alone. `dtype` is the products' type.
    """

    ranks: int
    global_batch: int
    sequence: int | None = None
    most_tp: int | None = None
    tp: tuple[int, ...] | None = None
    cp: tuple[int, ...] | None = None
    ep: tuple[int, ...] | None = None
    etp: tuple[int, ...] | None = None
    cp_kind: tuple[str, ...] | None = None
    pp: tuple[int, ...] | None = None
    vpp: tuple[int, ...] | None = None
    zero: tuple[int, ...] = (0, 1, 2, 3)
    micro_batch: tuple[int, ...] | None = None
    recompute: tuple[str, ...] = RECOMPUTE
    gradient_dtype: tuple[str, ...] = ("fp32", "bf16")
    embedding_as_layer: tuple[bool, ...] = (False, True)
    loss_as_layer: tuple[bool, ...] = (False, True)
    sequence_parallel: tuple[bool, ...] | None = None
    overlap: tuple[bool, ...] = (True,)
    lora_rank: int | None = None
    lora_targets: str = "q_proj,v_proj"
    overlap_experts: OverlapExperts = "none"
    exposed_experts: float = 0.0
    dispatch: Dispatch = "once"
    recompute_modules: str = "core_attn"
    cuda_graphs: str = "none"
    unfused_kernels: str = "none"
    overlap_products: bool = False
    exposed_gradients: float = 0.0
    dtype: Dtype = "bf16"
    scaling: Scaling | None = None
    narrow_weights: bool | None = None
    transposed_weights: bool | None = None
    reuse_gradients: bool = True
    master_dtype: MasterDtype = "fp32"
    exp_avg_dtype: StateDtype = "fp32"
    exp_avg_sq_dtype: StateDtype = "fp32"

    def __post_init__(self) -> None:
        for name in ("ranks", "global_batch", "sequence"):
            value = getattr(self, name)
            if name == "sequence" and value is None:
                continue
            if not isinstance(value, int) or not 1 <= value <= _MOST:
                raise ConfigError(name, expected_got(f"a whole number of 1 to {_MOST}", value))
        for name in COLUMNS:
            if getattr(self, name, None) == ():
                raise ConfigError(name, "an empty choice leaves no plan; expected a value")
        for name, known in NAMES.items():
            for value in self.values(name):
                if value not in known:
                    raise ConfigError(name, expected_got(f"one of {', '.join(known)}", value))
        for name in OFF_OR_ON:
            for value in self.values(name):
                if not isinstance(value, bool):
                    raise ConfigError(name, expected_got("true or false", value))
        if self.dtype not in CHOICES["dtype"]:
            one = f"one of {', '.join(CHOICES['dtype'])}"
            hint = did_you_mean(str(self.dtype), CHOICES["dtype"])
            raise ConfigError("dtype", expected_got(one, self.dtype) + hint)
        for level in self.zero:
            if level not in _ZERO:
                raise ConfigError("zero", expected_got("0, 1, 2 or 3", level))

    def columns(self, model: Any) -> Columns:
        """Return every legal plan for a model. Raises ConfigError where there is none."""
        facts = facts_of(model)
        check_adapters(self.held, model)
        for rule in problems(Plan(), facts, self.sequence or facts.sequence):
            if rule.field == "sequence":
                raise ConfigError("sequence", rule.reason)
        splits = list(self._splits(facts))
        if not splits:
            problem = f"no legal plan for {model.name} on {self.ranks} ranks"
            held = [
                f"{name} {' or '.join(map(str, values))}"
                for name in (*_SPLIT, *_BATCH[:2])
                if isinstance(values := getattr(self, name, None), tuple)
            ]
            batch = f"a global batch of {self.global_batch}"
            why = "".join(f"\n{reason}" for reason in self._broken(facts))
            raise ConfigError("space", f"{problem} with {' and '.join((batch, *held))}{why}")
        return _columns(splits)

    def _broken(self, facts: Facts) -> Iterator[str]:
        """The rules that a plan breaks whatever is left open: it has what has one value."""
        given = {name: getattr(self, name, None) for name in (*_SPLIT, *_BATCH[:2])}
        of = {name: value[0] for name, value in given.items() if value and len(value) == 1}
        split = of.get("tp", 1) * of.get("cp", 1) * of.get("pp", 1)
        if self.ranks % split:
            yield f"ranks: {self.ranks} are no multiple of tp x cp x pp = {split}"
        if self.global_batch % (each := of.get("micro_batch", 1)):
            yield f"micro_batch: a global batch of {self.global_batch} is no multiple of {each}"
        rest = {"dp": max(self.ranks // split, 1), "global_batch": self.global_batch}
        plan = Plan(**(rest | of), sequence_parallel=False)
        for rule in problems(plan, facts, self.sequence or facts.sequence):
            if rule.field in of:
                yield f"{rule.field}: {rule.reason}"

    def is_legal(self, model: Any) -> bool:
        """Return whether a model has any plan."""
        return any(True for _ in self._splits(facts_of(model)))

    def plan(self, columns: Columns, at: int, **more: Any) -> Plan:
        of: dict[str, Any] = {
            name: int(columns[name][at]) if name in columns else self.values(name)[0]
            for name in COLUMNS
        }
        split, overlap = (of.pop(name) for name in SWITCHES)
        of |= {name: bool(of[name]) for name in OFF_OR_ON if name in of}
        of |= {name: known[of[name]] for name, known in NAMES.items() if name in columns}
        of |= {"global_batch": self.global_batch}
        of |= {name: getattr(self, name) for name in HELD}
        of["exposed_gradients"] *= overlap
        of["overlap_products"] = bool(of["overlap_products"] and split and of["tp"] > 1)
        if of["recompute"] != "selective":
            del of["recompute_modules"]
        return Plan(**(of | switched(split, overlap) | more))

    def values(self, name: str) -> tuple[Any, ...]:
        given: tuple[Any, ...] | None = getattr(self, name)
        return LEFT_OPEN[name] if given is None else given

    @property
    def held(self) -> Plan:
        return Plan(**{name: getattr(self, name) for name in HELD})

    @property
    def fixed(self) -> dict[str, Any]:
        usual = Plan()
        varied = {*FIELDS, *(name for name in FURTHER if self._varies(name)), "global_batch"}
        switched_off = switched(*(self.values(name)[0] for name in SWITCHES))
        for name, fields in _OF_SWITCHES.items():
            varied |= set(fields) if self._varies(name) else set()
        found = {}
        for name, value in usual.given.items():
            given = self.values(name) if name in LEFT_OPEN else getattr(self, name, value)
            one = given[0] if isinstance(given, tuple) else given
            if name in FIELDS and isinstance(given, tuple) and len(given) == 1 and name != "dp":
                found[name] = one
            elif name not in varied:
                found[name] = switched_off.get(name, one)
        return found

    @property
    def bounds(self) -> dict[str, str]:
        found = {}
        if self.cp is None:
            found["cp"] = f"chunks of at least {_CHUNK} tokens"
        if self.micro_batch is None:
            found["micro_batch"] = f"at most {_MOST_TOKENS} tokens a rank"
        if self.most_tp is not None:
            found["tp"] = f"at most {self.most_tp}"
        if self.lora_rank is not None:
            found["zero"] = "0 and 1 with adapters"
        return found

    @property
    def shown(self) -> tuple[str, ...]:
        further = (name for name in (*FURTHER, *SWITCHES) if self._varies(name))
        return (*FIELDS, *further)

    def _varies(self, name: str) -> bool:
        given = self.values(name) if name in LEFT_OPEN else getattr(self, name)
        return given is None or len(given) > 1

    def _splits(self, facts: Facts) -> Iterator[_Split]:
        tokens = self.sequence or facts.sequence
        splits = gcd(*facts.heads, *facts.kv_heads, *facts.widths) or 1
        refused = {field for field, _ in facts.limits}
        experts = gcd(*facts.experts) if facts.experts else 1
        batches: dict[tuple[int, int, int], np.ndarray] = {}
        for tp in self._chosen("tp", splits if "tp" not in refused else 1):
            if self.most_tp is not None and tp > self.most_tp:
                continue
            etps = self._tensors(facts)
            for cp, pp in product(
                self._contexts(tp, tokens, refused),
                self._chosen("pp", self.ranks // tp, facts.layers + 2),
            ):
                halves = 2 * cp if facts.is_causal and cp > 1 else cp
                splits_tokens = self._splits_tokens(tp, cp, tokens, facts)
                if not splits_tokens or tokens % halves or self.ranks % (tp * cp * pp):
                    continue
                dp = self.ranks // (tp * cp * pp)
                if self.global_batch % dp:
                    continue
                key = pp, dp, max(_MOST_TOKENS * cp // tokens, 1)
                if key not in batches:
                    each = self.global_batch // dp
                    batches[key] = self._batches(facts.layers, pp, each, key[-1])
                switches = self._switches(splits_tokens, is_alone=dp * cp == 1)
                if not len(batches[key]):
                    continue
                kinds = self._kinds(tp, cp, facts)
                for ep, etp, kind in product(self._chosen("ep", experts), etps, kinds):
                    hides = ep > 1 or self.overlap_experts == "none"
                    if (tp * cp * dp) % (ep * etp) == 0 and hides:
                        yield _Split(tp, cp, ep, etp, kind, pp, dp, batches[key], switches)

    def _contexts(self, tp: int, tokens: int, refused: set[str]) -> list[int]:
        every = divisors(self.ranks // tp) if self.ranks % tp == 0 else []
        few = self.cp is not None or "cp" in refused
        given = (1,) if self.cp is None else self.cp
        found = given if few else [cp for cp in every if cp == 1 or tokens >= 2 * cp * _CHUNK]
        return [cp for cp in found if cp in every and (cp == 1 or "cp" not in refused)]

    def _tensors(self, facts: Facts) -> list[int]:
        widths = gcd(*facts.expert_widths) if facts.experts else 1
        return [etp for etp in self.values("etp") if widths % etp == 0]

    def _kinds(self, tp: int, cp: int, facts: Facts) -> list[int]:
        heads = gcd(*facts.heads, *facts.kv_heads)
        kinds = self.values("cp_kind")
        legal = [kind for kind in kinds if kind != _BY_HEADS or heads // tp % cp == 0]
        return [CP_KINDS.index(kind) for kind in (legal if cp > 1 else kinds[:1])]

    def _splits_tokens(self, tp: int, cp: int, tokens: int, facts: Facts) -> list[bool]:
        if tp == 1:
            return [True]
        whole = not facts.experts and not any(width % tp for width in facts.latents)
        refused = "sequence_parallel" in dict(facts.limits)
        legal = {
            True: tokens % (tp * cp) == 0 and not refused,
            False: whole and tokens % cp == 0,
        }
        return [value for value in self.values("sequence_parallel") if legal[value]]

    def _batches(self, layers: int, pp: int, each: int, most_batch: int) -> np.ndarray:
        rows = []
        bound = None if self.micro_batch is not None else most_batch
        for micro_batch in self._chosen("micro_batch", each, bound):
            count = each // micro_batch
            if count == 1 and self.overlap_experts != "none":
                continue
            chunks = layers + 2 if pp > 1 and count % pp == 0 else pp
            most = min(chunks, MOST_PASSES // count) // pp
            for vpp in self.vpp or range(1, most + 1):
                if 1 <= vpp <= most:
                    rows += [(micro_batch, vpp, *ends) for ends in self._layouts(layers, pp * vpp)]
        return np.array(rows, dtype=np.int64).reshape(len(rows), len(_BATCH))

    def _layouts(self, layers: int, stages: int) -> Iterator[tuple[bool, bool]]:
        """Yield whether embedding and loss count as layers; of equal stages the first."""
        seen = set()
        for front, tail in product(self.embedding_as_layer, self.loss_as_layer):
            ranges = _ranges(layers, stages, front, tail)
            if ranges is not None and ranges not in seen:
                seen.add(ranges)
                yield front, tail

    def _switches(self, splits_tokens: list[bool], is_alone: bool) -> np.ndarray:
        most = 0 if is_alone else 1 if self.lora_rank is not None else max(_ZERO)
        most = min(most, 1) if self.exposed_gradients else most
        zeros = [level for level in self.zero if level <= most]
        overlaps = self.overlap[:1] if is_alone else self.overlap  # nothing is reduced
        names = {one: NAMES[one] for one in _SWITCHED if one in NAMES}
        named = [[known.index(of) for of in getattr(self, one)] for one, known in names.items()]
        rows = list(product(zeros, *named, splits_tokens, overlaps))
        return np.array(rows, dtype=np.int64).reshape(len(rows), len(_SWITCHED))

    def _chosen(self, name: str, of: int, most: int | None = None) -> list[int]:
        given = getattr(self, name)
        found = given if given is not None else tuple(divisors(of))
        return [value for value in found if of % value == 0 and (most is None or value <= most)]


@lru_cache(maxsize=1 << 12)
def _ranges(
    layers: int, stages: int, front: bool, tail: bool
) -> tuple[tuple[int, int], ...] | None:
    whole = layers + front + tail
    if whole < stages or ((front or tail) and whole % stages):
        return None
    return layer_ranges(layers, stages, front=front, tail=tail)


def _columns(splits: list[_Split]) -> Columns:
    batches = np.concatenate([one.batches for one in splits])
    each = np.array([len(one.switches) for one in splits])
    counts = np.array([len(one.batches) for one in splits])
    times = each.repeat(counts)  # switches of each batch
    first = times.cumsum() - times
    made = {name: batches[:, at].repeat(times) for at, name in enumerate(_BATCH)}
    heads = np.array([one[: len(_SPLIT)] for one in splits], dtype=np.int64)
    rows = each * counts
    made |= {name: heads[:, at].repeat(rows) for at, name in enumerate(_SPLIT)}
    every = np.concatenate([one.switches for one in splits])
    begins = (each.cumsum() - each).repeat(counts)
    at_switch = np.arange(int(times.sum())) + (begins - first).repeat(times)
    made |= {name: every[at_switch, at] for at, name in enumerate(_SWITCHED)}
    return {name: made[name] for name in COLUMNS}


def told(row: Mapping[str, int]) -> dict[str, Any]:
    def one(name: str, value: int) -> Any:
        if name in NAMES:
            return NAMES[name][value]
        return bool(value) if name in OFF_OR_ON else value

    return {name: one(name, int(value)) for name, value in row.items()}


def switched(sequence_parallel: object, overlap: object) -> dict[str, bool]:
    fields = {}
    if not sequence_parallel:
        fields["sequence_parallel"] = False
    if not overlap:
        fields |= {"overlap_gradients": False, "overlap_parameters": False}
    return fields
