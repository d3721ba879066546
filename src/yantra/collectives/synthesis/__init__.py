"""Bounds that no schedule beats on a fabric, and schedules close to them."""
