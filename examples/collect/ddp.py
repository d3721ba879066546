"""Data parallel: DistributedDataParallel sums gradients in C++, bucket by bucket.

torchrun --nproc-per-node 4 examples/collect/ddp.py traces
"""

from __future__ import annotations

import sys

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

import yantra


def main(folder: str = "traces") -> None:
    dist.init_process_group("gloo")
    torch.manual_seed(0)
    hidden = [nn.Linear(512, 512), nn.BatchNorm1d(512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU()]
    layers = nn.Sequential(nn.Linear(64, 512), nn.ReLU(), *hidden, nn.Linear(512, 8))
    model = DistributedDataParallel(layers, bucket_cap_mb=1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with yantra.collect(folder, warmup=2) as collection:
        for _ in range(3):
            inputs, labels = torch.randn(32, 64), torch.randint(8, (32,))
            loss = nn.functional.cross_entropy(model(inputs), labels)
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            dist.all_reduce(loss.detach())
            collection.step()
    dist.destroy_process_group()


if __name__ == "__main__":
    main(*sys.argv[1:])
