from yantra import chakra as chakra
from yantra import errors as errors
from yantra import quirks as quirks
from yantra import scenario as scenario
from yantra import units as units
from yantra.compile import Model as Model
from yantra.compile import compile as compile
from yantra.errors import ConfigError as ConfigError
from yantra.errors import DeadlockError as DeadlockError
from yantra.errors import InternalError as InternalError
from yantra.errors import TraceError as TraceError
from yantra.errors import UnsupportedError as UnsupportedError
from yantra.errors import YantraError as YantraError
from yantra.result import Result as Result
from yantra.scenario import ChakraFiles as ChakraFiles
from yantra.scenario import Collectives as Collectives
from yantra.scenario import Custom as Custom
from yantra.scenario import Device as Device
from yantra.scenario import Dimension as Dimension
from yantra.scenario import RemoteMemory as RemoteMemory
from yantra.scenario import Resources as Resources
from yantra.scenario import Scenario as Scenario
from yantra.scenario import SharedBus as SharedBus
from yantra.scenario import Topology as Topology
from yantra.scenario import Traces as Traces
from yantra.simulate import simulate as simulate

__version__: str
