"""Chakra's messages under the name they had until May 2024; the classes are the same."""

from chakra.schema.protobuf import et_def_pb2 as _today
from chakra.schema.protobuf.et_def_pb2 import *  # noqa: F403

from yantra.cli.chakra_package import stay_behind_upstream

stay_behind_upstream(__name__)

__all__ = _today.__all__
__getattr__ = _today.__getattr__
