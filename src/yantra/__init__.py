"""Yantra predicts how a distributed machine-learning job runs on a cluster.

The public names are loaded on first use, so that every command starts fast.
"""

__version__ = "0.1.0"
