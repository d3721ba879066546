"""Pipeline parallel: one stage a rank, activations and gradients sent between neighbours.

torchrun --nproc-per-node 4 examples/collect/pipeline.py traces
"""

from __future__ import annotations

import sys

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.pipelining import PipelineStage, Schedule1F1B

import yantra


def main(folder: str = "traces") -> None:
    dist.init_process_group("gloo")
    torch.manual_seed(0)
    rank, stages = dist.get_rank(), dist.get_world_size()
    layer = nn.Sequential(nn.Linear(64, 64), nn.ReLU())
    stage = PipelineStage(layer, rank, stages, torch.device("cpu"))
    schedule = Schedule1F1B(stage, n_microbatches=stages, loss_fn=nn.functional.mse_loss)
    optimizer = torch.optim.SGD(layer.parameters(), lr=0.1)
    with yantra.collect(folder, warmup=2) as collection:
        for _ in range(3):
            batch = torch.randn(8 * stages, 64)
            if rank == 0:
                schedule.step(batch)
            else:
                schedule.step(target=batch if rank == stages - 1 else None)
            optimizer.step()
            optimizer.zero_grad()
            collection.step()
    dist.destroy_process_group()


if __name__ == "__main__":
    main(*sys.argv[1:])
