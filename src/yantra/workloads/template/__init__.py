"""Workloads as templates: one trace per class of equal ranks, with relative groups and peers."""
