"""Inspecting traces: statistics, checks, drawings, timelines, differences.

Each tool is a module imported on use; shared: `rank_traces`, `columns`, `groups`, `names`.
"""
