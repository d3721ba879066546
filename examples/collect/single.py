"""One process: records one training step of a small model.

python examples/collect/single.py traces
"""

from __future__ import annotations

import sys

import torch
from torch import nn

import yantra


def main(folder: str = "traces") -> None:
    """Train three steps and record the last."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(64, 128), nn.GELU(), nn.LayerNorm(128), nn.Linear(128, 8))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    with yantra.collect(folder, warmup=2) as collection:
        for _ in range(3):
            inputs, labels = torch.randn(32, 64), torch.randint(8, (32,))
            nn.functional.cross_entropy(model(inputs), labels).backward()
            optimizer.step()
            optimizer.zero_grad()
            collection.step()


if __name__ == "__main__":
    main(*sys.argv[1:])
