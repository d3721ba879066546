"""Tests of the workload generator, a folder for each part."""
