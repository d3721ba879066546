from yantra.workloads.catalogue import find as find_model
from yantra.workloads.inference import InferencePlan as InferencePlan
from yantra.workloads.inference import infer as infer
from yantra.workloads.model import Model as Model
from yantra.workloads.plan import Plan as Plan
from yantra.workloads.template import Workload as Workload
from yantra.workloads.template import load as load
from yantra.workloads.training import train as train

__all__ = [
    "InferencePlan",
    "Model",
    "Plan",
    "Workload",
    "find_model",
    "infer",
    "load",
    "train",
]
