"""Tensor parallel inside pairs, data parallel across them, on a two-dimensional device mesh.

torchrun --nproc-per-node 4 examples/collect/tensor_parallel.py traces
"""

from __future__ import annotations

import sys

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor.parallel import (
    ColwiseParallel,
    RowwiseParallel,
    parallelize_module,
)

import yantra


def main(folder: str = "traces") -> None:
    dist.init_process_group("gloo")
    torch.manual_seed(0)
    pairs = dist.get_world_size() // 2
    mesh = init_device_mesh("cpu", (pairs, 2), mesh_dim_names=("data", "tensor"))
    model = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 8), nn.LogSoftmax(dim=-1))
    plan = {"0": ColwiseParallel(), "2": RowwiseParallel()}
    parallelize_module(model, mesh["tensor"], plan)
    fully_shard(model, mesh=mesh["data"])
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with yantra.collect(folder, warmup=2) as collection:
        for _ in range(3):
            inputs, labels = torch.randn(32, 64), torch.randint(8, (32,))
            nn.functional.nll_loss(model(inputs), labels).backward()
            optimizer.step()
            optimizer.zero_grad()
            collection.step()
    dist.destroy_process_group()


if __name__ == "__main__":
    main(*sys.argv[1:])
