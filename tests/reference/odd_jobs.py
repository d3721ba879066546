"""Random jobs of what few have: `dims` five and six dimensions, `huge` sizes around 2^31 and 2^32,
`zoo` odd attributes, ids and names, `sparse` empty or idle ranks, `remote` memory, `custom`
collectives.
"""

from __future__ import annotations

from typing import Any

from tests.reference import jobs
from tests.reference.jobs import COLLECTIVES, Job
from yantra.chakra import Attribute, CollectiveType, Kind, Node, NodeType, TraceBuilder
from yantra.chakra.schema import INTEGER_RANGES

_HUGE = (2**31 - 1, 2**31, 2**31 + 5, 2**32 - 1, 2**32, 2**32 + 1000, 2**33 + 77, 10**10)
_SPELLINGS = ("{}", "+{}", " {}", "{} ", "{}x", "00{}", "{}.5")
_JUNK = (
    Attribute("weight", 0.5),
    Attribute("note", "none"),
    Attribute("shape", (1, 2, 3), Kind.INT64_LIST),
    Attribute("flags", (True, False), Kind.BOOL_LIST),
    Attribute("blob", b"\x00\xff", Kind.BYTES),
)
_MEMORIES = ("PER_NPU_MEMORY_EXPANSION", "MEMORY_POOL", "PER_NODE_MEMORY_EXPANSION")


def dims(job: Job) -> None:
    last: list[Any] = [() for _ in range(job.ranks)]
    for _ in range(job.random.choice((1, 1, 1, 2))):
        if job.random.random() < 0.3:
            for rank in range(job.ranks):
                last[rank] = job.kernel(rank, last[rank])
        job.together(job.random.choice(COLLECTIVES), list(range(job.ranks)), "", last)


def huge(job: Job) -> None:
    draw = job.random
    job.sizes = (*_HUGE, 1 << 20)
    job.features.add("gigabytes")
    if draw.random() < 0.4:
        job.arguments = ["--rendezvous-protocol=true"]
    elif draw.random() < 0.3:
        job.system = {"model-shared-bus": 1, "L": 1, "o": 1, "g": 0, "G": 0}
    last: list[Any] = [() for _ in range(job.ranks)]
    for _ in range(draw.randrange(1, 5)):
        if draw.random() < 0.5:
            job.together(draw.choice(COLLECTIVES), list(range(job.ranks)), "", last)
            continue
        for _ in range(draw.randrange(1, 4)):
            src, dst = draw.sample(range(job.ranks), 2)
            _, last[dst] = job.message(src, dst, job.size(), last[src], last[dst])


def zoo(job: Job) -> None:
    jobs.mixed(job)
    draw = job.random
    step = draw.choice((1, 3, 2**20, 2**40))
    for trace in job.traces:
        for node in trace.nodes:
            node.id *= step
            node.data_deps = [parent * step for parent in node.data_deps]
            _disguise(job, node)
    spelling = draw.choice(_SPELLINGS)
    job.groups = {spelling.format(name): ranks for name, ranks in job.groups.items()}


def _disguise(job: Job, node: Node) -> None:
    draw = job.random
    changed = []
    for item in node.attributes:
        if item.name == "pg_name":
            item = Attribute("pg_name", draw.choice(_SPELLINGS).format(item.value))
        elif item.name != "is_cpu_op" and type(item.value) is int and draw.random() < 0.7:
            value = item.value
            fits = [kind for kind, (low, high) in INTEGER_RANGES.items() if low <= value <= high]
            item = Attribute(item.name, value, draw.choice(fits))
        changed.append(item)
        if draw.random() < 0.1:
            changed.append(draw.choice(_JUNK))
    node.attributes = changed


def sparse(job: Job) -> None:
    draw = job.random
    last: list[Any] = [() for _ in range(job.ranks)]
    busy = draw.sample(range(job.ranks), draw.randrange(2, job.ranks + 1))
    for rank in busy:
        last[rank] = job.kernel(rank, ())
    for _ in range(draw.randrange(1, 6)):
        src, dst = draw.sample(busy, 2)
        _, last[dst] = job.message(src, dst, job.size(), last[src], last[dst])
    for rank in sorted(set(range(job.ranks)) - set(busy)):
        kind = draw.random()
        if kind < 0.3:
            job.features.add("an empty rank")
        elif kind < 0.6:
            job.features.add("the CPU")
            job.traces[rank].compute(duration_micros=draw.randrange(1, 200), cpu=True)
        elif kind < 0.7:
            job.features.add("metadata")
            job.traces[rank].add(Node(1, "metadata", NodeType.METADATA))
        else:
            job.kernel(rank, ())


def remote(job: Job) -> None:
    draw = job.random
    kind = draw.choice(_MEMORIES)
    job.features |= {"remote memory", kind}
    job.memory = {
        "memory-type": kind,
        "remote-mem-latency": draw.choice((0, 1, 100, 2000)),
        "remote-mem-bw": draw.choice((1, 7, 50, 400)),
    }
    if kind == "PER_NODE_MEMORY_EXPANSION":
        each = draw.randrange(1, job.ranks + 1)
        job.memory |= {"num-npus-per-node": each, "num-nodes": -(-job.ranks // each)}
    last: list[Any] = [() for _ in range(job.ranks)]
    for _ in range(draw.randrange(1, 5)):
        for rank in draw.sample(range(job.ranks), draw.randrange(1, job.ranks + 1)):
            trace, size = job.traces[rank], job.size()
            access = draw.choice((trace.memory_load, trace.memory_store))
            last[rank] = job.kernel(rank, access(size, after=last[rank]))
    for rank in range(job.ranks):
        if last[rank] == ():
            last[rank] = job.kernel(rank, ())
    if draw.random() < 0.5:
        job.together(draw.choice(COLLECTIVES), list(range(job.ranks)), "", last)


def custom(job: Job) -> None:
    draw = job.random
    kind = draw.choice((CollectiveType.ALL_REDUCE, CollectiveType.ALL_GATHER))
    key = kind.name.lower().replace("_", "-")
    job.system = {"preferred-dataset-splits": 1}
    job.prefixes = {f"{key}-implementation-custom": ["own"]}
    job.features.add("a custom collective")
    shifts = [draw.randrange(1, job.ranks) for _ in range(draw.randrange(1, 5))]
    sizes = [job.size() for _ in shifts]
    for rank in range(job.ranks):
        trace = TraceBuilder(first_id=1)
        before: Any = ()
        for at, (shift, size) in enumerate(zip(shifts, sizes, strict=True)):
            sent = trace.send((rank + shift) % job.ranks, size, tag=at, after=before)
            got = trace.recv((rank - shift) % job.ranks, size, tag=at, after=before)
            before = (sent, got) if at % 2 else trace.compute(duration_micros=at + 1, after=got)
        job.files[f"own.{rank}.et"] = trace.build().to_bytes()
    last: list[Any] = [() for _ in range(job.ranks)]
    for rank in draw.sample(range(job.ranks), draw.randrange(0, job.ranks)):
        last[rank] = job.kernel(rank, ())
    for _ in range(draw.randrange(1, 3)):
        job.together(kind, list(range(job.ranks)), "", last)


KINDS = {
    "dims": dims,
    "huge": huge,
    "zoo": zoo,
    "sparse": sparse,
    "remote": remote,
    "custom": custom,
}
jobs.KINDS.update(KINDS)
jobs.DIMENSIONS["dims"] = (5, 5, 6)
