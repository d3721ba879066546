from yantra.workloads.models.catalogue import find as find_model
from yantra.workloads.models.model import Model as Model
from yantra.workloads.plan.plan import Plan as Plan
from yantra.workloads.serving import InferencePlan as InferencePlan
from yantra.workloads.serving import infer as infer
from yantra.workloads.templates import Workload as Workload
from yantra.workloads.templates import load as load
from yantra.workloads.training.train import train as train

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
