"""Fully sharded data parallel (FSDP2): parameters are gathered, gradients reduce-scattered.

torchrun --nproc-per-node 4 examples/collect/fsdp2.py traces
"""

from __future__ import annotations

import sys

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

import yantra


def main(folder: str = "traces") -> None:
    dist.init_process_group("gloo")
    torch.manual_seed(0)
    mesh = init_device_mesh("cpu", (dist.get_world_size(),), mesh_dim_names=("shard",))
    model = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 64), nn.Linear(64, 8))
    for layer in (model[0], model[2]):
        fully_shard(layer, mesh=mesh)
    fully_shard(model, mesh=mesh)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    with yantra.collect(folder, warmup=2) as collection:
        for _ in range(3):
            inputs, labels = torch.randn(32, 64), torch.randint(8, (32,))
            nn.functional.cross_entropy(model(inputs), labels).backward()
            optimizer.step()
            optimizer.zero_grad()
            collection.step()
    dist.destroy_process_group()


if __name__ == "__main__":
    main(*sys.argv[1:])
