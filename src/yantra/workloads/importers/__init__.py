"""Workloads read from the inputs of other generators."""
