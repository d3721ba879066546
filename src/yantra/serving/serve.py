"""`serve`: requests on replicas of an engine on a cluster, and what their users wait for.

An interval is that of the iterations: the fleet runs again with all of them as short, and as long,
as 90 of 100 are. Trade-off: errors of one machine go one way, so the ends are wider than errors of
single iterations would make them.
"""

from __future__ import annotations

from functools import partial
from math import inf
from typing import TYPE_CHECKING, Any, NamedTuple

from yantra.base.errors import ConfigError, UnsupportedError
from yantra.base.notebook import progress_line
from yantra.base.notes import note
from yantra.serving import batching
from yantra.serving.answer import Served
from yantra.serving.apart import check_sides, feed_forward_bytes, plan_of, tables_apart
from yantra.serving.blocks import Room, bytes_per_token, room_of
from yantra.serving.commands.read import is_launch
from yantra.serving.commands.read import load as load_launch
from yantra.serving.fleet import Fleet, Linear, Pool
from yantra.serving.imbalance import imbalance_of
from yantra.serving.links import Line, Links
from yantra.serving.pools import BUDGETS, SEATS, Asked, asked, options_of, pool_of
from yantra.serving.tiers import tier_options
from yantra.workloads.serving.stages import Stages

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from yantra.base.documents import Path
    from yantra.fabric.clusters.types import Cluster
    from yantra.serving.capacity import Capacity
    from yantra.serving.engines import Engine
    from yantra.serving.groups import Groups
    from yantra.serving.measures import Objective
    from yantra.serving.requests import Requests
    from yantra.workloads.serving.plan import InferencePlan

__all__ = ["serve"]
_MOST_TOKENS, _MOST_SEQUENCES = 16_384, 1_024
_AT_ONCE = 1e18  # bytes/s


class Question(NamedTuple):
    """What is served, by what, on what; `cost` in place of model and cluster gives times itself."""

    requests: Requests
    pools: tuple[tuple[str, Asked], ...]
    model: Any = None
    cluster: Cluster | None = None
    stack: str | None = None
    cost: Linear | None = None
    routing: str = "least_outstanding"
    transfer_bytes_per_s: float | None = None
    transfer_latency_s: float = 0.0
    kv_bytes_per_token: int = 0
    layerwise: bool = False
    most_under_way: int = 0
    seed: int = 1


@progress_line("requests")
def serve(
    model: Any = None,
    cluster: Any = None,
    requests: Any = None,
    *,
    engine: str = "vllm",
    replicas: int = 1,
    prefill: str | None = None,
    decode: str | None = None,
    routing: str = "least_outstanding",
    stack: str | None = None,
    cost: Linear | None = None,
    rate_x: float = 1.0,
    concurrency: int = 0,
    transfer_bytes_per_s: float | None = None,
    transfer_latency_s: float = 0.0,
    kv_bytes_per_token: int = 0,
    layerwise: bool = False,
    seed: int = 1,
    intervals: bool = True,
    samples: bool = False,
    stream: bool = False,
    rows: Path | None = None,
    **fields: Any,
) -> Served:
    """Serve requests: a file, a rule such as `poisson:rate=10/s,count=1000`, or `Requests`.

    `engine` is a name, or a script that starts one (`yantra.serving.commands`) and says the model.
    `fields` are those of an inference plan (tp, dtype, ...) and options of the engine. `prefill`
    and `decode` are pools such as `3x tp=4`, or scripts of these, in place of `replicas`. `rate_x`
    times the rate of arrivals; `concurrency` bounds requests under way. `cost` gives the time of an
    iteration in place of a model and a cluster. KV moves over the cluster's links, or at
    `transfer_bytes_per_s`, whole or `layerwise`; with a `cost` it has `kv_bytes_per_token`. A
    `stream` goes to `rows`.

    Raises ConfigError for what does not fit together, CapacityError where no KV fits, and
    DeadlockError for requests that can never end.
    """
    from yantra.serving.requests import Requests, load

    if requests is None:
        problem = "nothing is asked; give a file, or a rule such as 'poisson:rate=10/s'"
        raise ConfigError("requests", problem)
    model, pools = _of_whom(model, engine, replicas, prefill, decode, fields)
    model, cluster = _known(model, cluster, cost)

    ask = partial(
        Question, pools=pools, model=model, cluster=cluster, stack=stack, cost=cost, seed=seed,
        routing=routing, transfer_bytes_per_s=transfer_bytes_per_s, most_under_way=concurrency,
        transfer_latency_s=transfer_latency_s, layerwise=layerwise,
        kv_bytes_per_token=kv_bytes_per_token,
    )  # fmt: skip
    if stream:
        from yantra.serving.requests.pieces import Pieces
        from yantra.serving.stream import streamed

        return streamed(Pieces(requests, rate_x=rate_x), ask, rows, intervals=intervals)
    asked_for = requests if isinstance(requests, Requests) else load(requests)
    return answered(ask(asked_for.scaled(rate_x)), intervals=intervals, samples=samples)


def _of_whom(
    model: Any,
    engine: str,
    replicas: int,
    prefill: str | None,
    decode: str | None,
    fields: dict[str, Any],
) -> tuple[Any, tuple[tuple[str, Asked], ...]]:
    """The model, and the pools that serve it."""
    if prefill is not None and decode is not None and is_launch(prefill) and is_launch(decode):
        return _launched_apart(model, {"prefill": prefill, "decode": decode}, fields)
    engine, model, replicas, fields = _launched(engine, model, replicas, fields)
    return model, _pools(engine, replicas, prefill, decode, fields)


def _launched(
    engine: str, model: Any, replicas: int, fields: dict[str, Any]
) -> tuple[str, Any, int, dict[str, Any]]:
    if not is_launch(engine):
        return engine, model, replicas, fields
    launch = load_launch(engine, model if isinstance(model, str) else None)
    count = launch.replicas if replicas == 1 else replicas
    whose = launch.model if model is None else model
    return launch.engine, whose, count, launch.fields | fields


def _launched_apart(
    model: Any, files: Mapping[str, str], fields: dict[str, Any]
) -> tuple[Any, tuple[tuple[str, Asked], ...]]:
    """Pools that scripts start, and their model. Raises ConfigError where they differ in it."""
    named = model if isinstance(model, str) else None
    given = {name: value for name, value in fields.items() if value is not None}
    found = {role: load_launch(path, named, role) for role, path in files.items()}
    if len({str(launch.model) for launch in found.values()}) > 1 and model is None:
        raise ConfigError("decode", "starts another model than --prefill; give one with --model")
    pools = tuple(
        (role, asked(launch.replicas, launch.engine, launch.fields | given, role))
        for role, launch in found.items()
    )
    return found["prefill"].model if model is None else model, pools


def answered(question: Question, *, intervals: bool = True, samples: bool = False) -> Served:
    fleet, rooms = fleet_of(question)
    return ran_on(question, fleet, rooms, intervals=intervals, samples=samples)


def ran_on(
    question: Question,
    fleet: Fleet,
    rooms: tuple[Room | None, ...],
    *,
    intervals: bool = True,
    samples: bool = False,
) -> Served:
    """Run a question on its fleet, as `answered` does."""
    best = fleet.run(question.requests, samples=samples)
    ends = None
    if intervals and (extremes := fleet.extremes):
        ends = tuple(fleet.run(question.requests, factor=factor) for factor in extremes)
    return Served(question, fleet, rooms, best, ends)


def at_most(served: Served, objectives: Sequence[Objective]) -> tuple[Served, Capacity]:
    """Serve the same requests at the highest rate that keeps every promise.

    Raises ConfigError where no rate does.
    """
    from yantra.serving.capacity import capacity

    question = served.question
    found = capacity(served.fleet, question.requests, objectives)
    if not found.factor:
        raise ConfigError("--rate", "no rate keeps the promises; even a lone request breaks one")
    scaled = question._replace(requests=question.requests.scaled(found.factor))
    return ran_on(scaled, served.fleet, served.rooms), found


def fleet_of(question: Question) -> tuple[Fleet, tuple[Room | None, ...]]:
    pools, rooms, shared = [], [], 0
    for role, pool in question.pools:
        made, room, pool_blocks = _pool(question, role, pool)
        pools.append(made)
        rooms.append(room)
        shared = max(shared, pool_blocks)
    line = None
    if any(role == "decode" for role, _ in question.pools):
        line = line_of(question)
    chances = [pool.acceptance for _, pool in question.pools if pool.acceptance is not None]
    fleet = Fleet(
        tuple(pools), question.routing, question.seed, line, shared,
        chances[-1] if chances else None, question.most_under_way,
    )  # fmt: skip
    return fleet, tuple(rooms)


def _pools(
    engine: str, replicas: int, prefill: str | None, decode: str | None, fields: Mapping[str, Any]
) -> tuple[tuple[str, Asked], ...]:
    given = {name: value for name, value in fields.items() if value is not None}
    if prefill is None and decode is None:
        return (("both", asked(replicas, engine, given, "serve")),)
    if prefill is None or decode is None:
        missing = "prefill" if prefill is None else "decode"
        raise ConfigError(missing, "pools of prefill and decode go together; give both")
    if replicas != 1:
        raise ConfigError(
            "replicas", "the pools say how many there are, such as --prefill '3x tp=4'"
        )
    return (
        ("prefill", pool_of(prefill, engine, given, "prefill")),
        ("decode", pool_of(decode, engine, given, "decode")),
    )


def _known(model: Any, cluster: Any, cost: Linear | None) -> tuple[Any, Cluster | None]:
    from yantra.fabric.clusters import load as load_cluster
    from yantra.workloads.models.catalogue import find

    if cost is not None:
        if model is not None or cluster is not None:
            raise ConfigError(
                "cost", "it stands in place of a model on a cluster; give one of both"
            )
        return None, None
    if model is None or cluster is None:
        missing = "model" if model is None else "cluster"
        raise ConfigError(missing, "expected a model and a cluster, or the cost of an iteration")
    found = find(model) if isinstance(model, str) else model
    return found, load_cluster(cluster) if isinstance(cluster, str) else cluster


def _pool(question: Question, role: str, pool: Asked) -> tuple[Pool, Room | None, int]:
    plan = pool.plan
    known = options_of(pool.engine)
    options = dict(pool.options)
    if "block_size" in known:
        options.setdefault("block_size", float(plan.block_size))
    room, shared = None, 0
    cost: Any = question.cost
    if cost is None:
        assert question.cluster is not None
        if pool.apart is not None:
            _check_apart(question, role, pool)
        tokens = _first((*BUDGETS, "chunk_size"), options, known, _MOST_TOKENS)
        room = room_of(
            question.model, question.cluster, plan, min(tokens, _longest(question)),
            grouped="full_groups" in known, adapters=_adapters(options, known, pool),
            elsewhere=0 if pool.apart is None else feed_forward_bytes(question.model, plan),
        )  # fmt: skip
        if room.groups is not None:
            options |= _grouped(room.groups, pool)
        cost = _measured(question, pool, tokens, _first(SEATS, options, known, _MOST_SEQUENCES))
        if "num_blocks" in known:
            options.setdefault("num_blocks", float(room.blocks))
        if "kv_tokens" in known:
            options.setdefault("kv_tokens", float(room.tokens))
        if pool.tiers:
            shared = _add_tiers(options, known, pool, room, question.cluster, cost)
    elif pool.tiers:
        raise ConfigError(
            next(iter(pool.tiers)), "needs a model and a cluster, whose KV has a size"
        )
    elif pool.apart is not None:
        raise ConfigError("ffn_devices", "needs a model and a cluster, whose layers take time")
    others = 0 if pool.apart is None else pool.apart.devices
    fails = () if pool.fail_s is None else (pool.fail_s,)
    made = Pool(
        pool.engine, options, cost, pool.replicas, role,  # type: ignore[arg-type]
        plan.dp, plan.pp, plan.ranks + others, _starts(pool), fails, pool.scaling,
    )  # fmt: skip
    return made, room, shared


def _adapters(options: Mapping[str, float], known: Mapping[str, Any], pool: Asked) -> int:
    if pool.plan.lora_rank is None:
        return 1
    if "max_loras" not in known:
        raise UnsupportedError(f"lora_rank: {pool.engine} has no adapters here; vllm has")
    return int(options.get("max_loras", known["max_loras"][0]))


def _grouped(groups: Groups, pool: Asked) -> dict[str, float]:
    found = groups.options() | {"block_size": float(groups.block_size)}
    if groups.states:
        if pool.options.get("enable_prefix_caching"):
            raise UnsupportedError(
                "enable_prefix_caching: states at the ends of prompts are not kept; leave it out"
            )
        found["enable_prefix_caching"] = 0.0
    if pool.tiers:
        raise UnsupportedError(
            f"{next(iter(pool.tiers))}: tiers of KV take models of which all layers keep all tokens"
        )
    return found


def _starts(pool: Asked) -> tuple[float, ...]:
    if pool.scaling is None:
        return (pool.start_s,) * pool.replicas
    later = pool.replicas - pool.scaling.least
    return (pool.start_s,) * pool.scaling.least + (inf,) * later


def _add_tiers(
    options: dict[str, float],
    known: Mapping[str, Any],
    pool: Asked,
    room: Room,
    cluster: Any,
    cost: Any,
) -> int:
    if "host_blocks" not in known:
        raise UnsupportedError(
            f"{next(iter(pool.tiers))}: {pool.engine} has no tiers of KV here; vllm has"
        )
    tables = cost.tables
    token_s = float((tables.dense_ns / tables.dense_tokens).min()) / 1e9
    found = tier_options(pool.tiers, room, cluster, pool.plan.tp, token_s)
    options.update(found.engine)
    return found.pool_blocks


def _first(
    names: Sequence[str], options: Mapping[str, float], known: Mapping[str, Any], fallback: int
) -> int:
    for name in names:
        if name in known:
            value = options.get(name, known[name][0])
            if value > 0:
                return int(value)
    return fallback


def _longest(question: Question) -> int:
    return max(int(question.requests.prompt.max()), 2)


def _measured(question: Question, pool: Asked, tokens: int, seats: int) -> Any:
    from yantra.serving.iteration import Predictor
    from yantra.serving.speeds import Measured

    plan = pool.plan
    if plan.pp > 1:
        _check_pipeline(pool)
    name, host = _host_of(pool)
    predictor = Predictor(question.model, question.cluster, plan, stack=question.stack, engine=name)
    context = int((question.requests.prompt + question.requests.output).max())
    tables = predictor.tables(max(tokens, 2), max(seats, 2), max(context, 2))
    if pool.apart is not None:
        far = plan_of(question.model, plan, pool.apart.devices)
        beyond = Predictor(question.model, question.cluster, far, stack=question.stack, engine=name)
        tables = tables_apart(predictor, beyond, tables, pool.apart)
    made = Measured(tables, predictor.interval, "")
    if pool.imbalance:
        experts, ranks = _experts(question.model), plan.ep * plan.etp
        made = made.with_experts(imbalance_of(pool.imbalance, experts, ranks))
    if (adapters := _adapters(pool.options, options_of(pool.engine), pool)) > 1:
        made = made.with_adapters(adapters, *_adapter(question, plan))
    drafts = pool.options.get("num_speculative_tokens", 0)
    if drafts and pool.draft == "mtp":
        made = made.with_layers(drafts / len(question.model.layers))
    rests_on = f"{predictor.rests_on}, {host.title}"
    if host.scheduler != pool.engine:
        rests_on += f", whose host times {pool.engine} is given"
    return made._replace(rests_on=rests_on, power=predictor.power)


def _check_pipeline(pool: Asked) -> None:
    kinds = [batching.kind_of(name) for name in batching.names()]
    known = ", ".join(kind.name for kind in kinds if kind.has_pipelines)
    if not batching.kind_of(pool.engine).has_pipelines:
        raise UnsupportedError(
            f"pp: {pool.engine} has no pipeline, in which several batches are under way; "
            f"take pp=1 and more tp, or one of {known}"
        )
    _, _, _, policies = options_of(pool.engine).get("capacity_scheduler_policy", (0, 0, "", []))
    chosen = int(pool.options.get("capacity_scheduler_policy", 0))
    if policies and policies[chosen] == "MAX_UTILIZATION":
        raise UnsupportedError(
            "capacity_scheduler_policy: MAX_UTILIZATION pauses requests that are in flight in a "
            "pipeline, which is not simulated; take GUARANTEED_NO_EVICT, or pp=1"
        )


def _check_apart(question: Question, role: str, pool: Asked) -> None:
    if role != "decode":
        raise UnsupportedError(
            "ffn_devices: attention is apart in pools of decode alone; say it in --decode"
        )
    assert question.cluster is not None
    assert pool.apart is not None
    check_sides(question.model, question.cluster, pool.plan, pool.apart)


def _adapter(question: Question, plan: InferencePlan) -> tuple[int, float]:
    assert question.cluster is not None
    stages = Stages(question.model, plan)
    size = max(stages.adapter_bytes(stage) for stage in range(plan.pp))
    return size, float(question.cluster.memory_bandwidth.value)


def _host_of(pool: Asked) -> tuple[str, Engine]:
    from yantra.serving import engines

    if pool.host:
        return pool.host, engines.load(pool.host)
    known = {name: engines.load(name) for name in engines.names()}
    of_it = [name for name, one in known.items() if one.scheduler == pool.engine]
    name = pool.engine if pool.engine in of_it else next(iter(of_it), "vllm")
    return name, known[name]


def _experts(model: Any) -> int:
    from yantra.workloads.models.experts import experts_of

    if (count := experts_of(model)) is None:
        raise ConfigError("imbalance", f"{model.name} has no routed experts")
    return count


def line_of(question: Question) -> Line | Links:
    rate = question.transfer_bytes_per_s
    if question.model is None or question.cluster is None:
        if not question.kv_bytes_per_token:
            note("KV moves between the pools at no cost; kv_bytes_per_token gives it one")
        return Line(question.kv_bytes_per_token, rate or _AT_ONCE, question.transfer_latency_s)
    per_token = bytes_per_token(question.model, dict(question.pools)["prefill"].plan)
    layers = len(question.model.layers) if question.layerwise else 1
    if rate is not None:
        return Line(per_token, rate, question.transfer_latency_s, layers)
    return Links(per_token, question.cluster, layers)
