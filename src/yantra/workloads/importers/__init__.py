"""Workloads from other generators' inputs."""
