"""Communicates in every way there is, and checks from inside that collecting leaves no mark."""

from __future__ import annotations

from pathlib import Path

import torch
import torch.distributed as dist
import torch.distributed._functional_collectives as functional
from torch import nn
from torch.distributed.algorithms.ddp_comm_hooks.default_hooks import fp16_compress_hook
from torch.nn.parallel import DistributedDataParallel

import yantra
from yantra.base.errors import ConfigError

N = 16


def main(folder: str) -> None:
    dist.init_process_group("gloo")
    rank, size = dist.get_rank(), dist.get_world_size()
    pairs = [dist.new_group([low, low + 1], group_desc="pair") for low in range(0, size, 2)]
    pair = pairs[rank // 2]
    before = (dist.Work.wait, dist.ProcessGroup._end_coalescing, dist._broadcast_coalesced)
    plain = step(rank, size, pair)
    with yantra.collect(folder, warmup=1, active=2, gzip=True) as collection:
        assert refused(lambda: yantra.collect(folder).__enter__())
        for _ in range(4):
            recorded = step(rank, size, pair)
            collection.step()
    assert len(collection.files) == 3
    assert torch.equal(plain, recorded)
    clean(before)
    interrupted(folder, before)
    short(folder, before)
    dist.destroy_process_group()


def step(rank: int, size: int, pair: dist.ProcessGroup) -> torch.Tensor:
    own = torch.arange(N, dtype=torch.float32) + rank
    parts = [torch.empty(N) for _ in range(size)]
    results = [reduced_in_backward(rank, with_hook) for with_hook in (False, True)]
    works = [dist.all_reduce(copy := own.clone(), async_op=True), dist.barrier(async_op=True)]
    for work in works:
        work.wait()
    dist.all_gather(parts, own)
    results += [copy, *parts]
    whole = torch.empty(N * size)
    dist.all_gather_into_tensor(whole, own)
    shares = [torch.full((N,), float(rank)) for _ in range(size)]
    dist.reduce_scatter(copy, shares)
    dist.reduce_scatter_tensor(share := torch.empty(N // size), own)
    dist.all_to_all_single(swapped := torch.empty(N), own)
    dist.broadcast(copy, src=1)
    dist.reduce(copy, dst=size - 1)
    dist.gather(own, parts if rank == 1 else None, dst=1)
    dist.scatter(own, parts if rank == 0 else None, src=0)
    dist.all_reduce(own, group=pair)
    results += [whole, share, swapped, own]
    results += [functional.wait_tensor(functional.all_reduce(own, "sum", dist.group.WORLD))]
    results += exchanged(rank, size, own, pair)
    dist.monitored_barrier()
    dist.all_gather_object([None] * size, {"rank": rank})
    return torch.cat([result.reshape(-1) for result in results])


def reduced_in_backward(rank: int, with_hook: bool) -> torch.Tensor:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(8, 256), nn.BatchNorm1d(256), nn.Linear(256, 1024))
    model = DistributedDataParallel(model, bucket_cap_mb=1)
    if with_hook:
        model.register_comm_hook(None, fp16_compress_hook)
    model(torch.full((4, 8), rank + 1.0)).sum().backward()
    return model.module[0].weight.grad


def exchanged(
    rank: int, size: int, own: torch.Tensor, pair: dist.ProcessGroup
) -> list[torch.Tensor]:
    got, more = torch.empty(N), torch.empty(N)
    batch = [
        dist.P2POp(dist.isend, own, (rank + 1) % size, tag=3),
        dist.P2POp(dist.irecv, got, (rank - 1) % size, tag=3),
    ]
    for work in dist.batch_isend_irecv(batch):
        work.wait()
    if rank % 2:
        dist.send(own, rank - 1, tag=9, group=pair)
    else:
        dist.recv(more, rank + 1, tag=9, group=pair)
    return [got, more if rank % 2 == 0 else got]


def clean(before: tuple[object, ...]) -> None:
    assert before == (dist.Work.wait, dist.ProcessGroup._end_coalescing, dist._broadcast_coalesced)
    has_kernel = torch._C._dispatch_has_kernel_for_dispatch_key
    assert not has_kernel("c10d::allreduce_", "BackendSelect")
    assert not has_kernel("_c10d_functional::wait_tensor", "BackendSelect")


def interrupted(folder: str, before: tuple[object, ...]) -> None:
    try:
        with yantra.collect(Path(folder) / "interrupted") as collection:
            dist.barrier()
            raise KeyError("of the user")
    except KeyError:
        pass
    assert not collection.files
    assert not list((Path(folder) / "interrupted").glob("*.json"))
    clean(before)


def short(folder: str, before: tuple[object, ...]) -> None:
    def block() -> None:
        with yantra.collect(Path(folder) / "short", warmup=3) as collection:
            dist.barrier()
            collection.step()

    assert "3 steps of warm-up and 1 to record, got 1;" in refused(block)
    clean(before)


def refused(action: object) -> str:
    try:
        action()  # type: ignore[operator]
    except ConfigError as error:
        return str(error)
    return ""
