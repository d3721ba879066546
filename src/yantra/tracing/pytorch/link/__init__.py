"""Linking: who launched which device op, and who waited for whom."""

from yantra.tracing.pytorch.link.join import link, link_alone, link_files

__all__ = ["link", "link_alone", "link_files"]
