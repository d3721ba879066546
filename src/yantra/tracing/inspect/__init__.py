"""Inspecting traces: statistics, checks, drawings, timelines, differences."""
