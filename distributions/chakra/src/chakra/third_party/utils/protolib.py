"""`chakra.src.third_party.utils.protolib` under the name it had until May 2024."""

from chakra.src.third_party.utils.protolib import decodeMessage, encodeMessage, openFileRd

from yantra.cli.chakra_package import stay_behind_upstream

__all__ = ["decodeMessage", "encodeMessage", "openFileRd"]

stay_behind_upstream(__name__)
