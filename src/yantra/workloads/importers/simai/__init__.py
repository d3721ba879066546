"""Workloads of SimAI and AICB: rows of one rank, made into templates with groups and a pipeline."""

from __future__ import annotations

from yantra.base.errors import ConfigError
from yantra.workloads.importers.imported import VIEW, make_grid, make_workload
from yantra.workloads.importers.simai.order import SIMAI, stages
from yantra.workloads.importers.simai.read import Job, read
from yantra.workloads.importers.simai.trace import trace
from yantra.workloads.templates import Workload
from yantra.workloads.templates.grid import Group

__all__ = ["SIMAI", "Job", "from_simai", "read"]

_DEFAULT = "1f1b"
_MEMBERS = {"tp": ("tp",), "ep": ("ep",), "edp": ("edp",), "dp": ("ep", "edp")}


def from_simai(path: str, ranks: int | None = None, schedule: str | None = None) -> Workload:
    """Read a workload of SimAI.

    `ranks` is needed without `all_gpus` in the file. `schedule` orders the micro-batches: `simai`,
    its loop without a pipeline, or a pipeline schedule; None is `simai` for one stage, else 1f1b.
    """
    job = read(path)
    every = _ranks(job, ranks)
    chosen = schedule or (SIMAI if job.pp == 1 or job.is_inference else _DEFAULT)
    alone = chosen == SIMAI or job.is_inference
    dp = every // (job.tp * job.pp)
    grid = make_grid(
        ("tp", job.tp), ("ep", job.ep), ("edp", dp // job.ep), ("pp", 1 if alone else job.pp)
    )
    groups = {name: Group(VIEW, axes) for name, axes in _MEMBERS.items()}
    groups = {name: group for name, group in groups.items() if grid.smallest(group) > 1}
    sizes = {name: grid.smallest(group) for name, group in groups.items()}
    notes = list(job.notes)
    if alone and job.pp > 1:
        stage = f"this is one of {job.pp} stages, on {every // job.pp} of {every} ranks"
        notes.append(f"{path}: {SIMAI} has no pipeline: {stage}")
    traces = tuple(trace(parts, sizes, job.pp_bytes) for parts in stages(job, chosen))
    about = {
        "source": "SimAI",
        "tp": job.tp,
        "ep": job.ep,
        "pp": job.pp,
        "dp": dp,
        "micro_batches": job.micro_batches,
        "schedule": chosen,
    }
    return make_workload(grid, groups, traces, None if alone else "pp", about, notes)


def _ranks(job: Job, given: int | None) -> int:
    ranks = given if given is not None else job.ranks
    if ranks is None:
        raise ConfigError("ranks", f"{job.where} does not say all_gpus; give the number of ranks")
    if job.ranks not in (None, ranks):
        raise ConfigError("ranks", f"{ranks} contradicts all_gpus: {job.ranks} of {job.where}")
    stage, rest = divmod(ranks, job.tp * job.pp)
    if rest or stage == 0:
        product = f"model_parallel_NPU_group x pp = {job.tp} x {job.pp}"
        raise ConfigError(job.where, f"{ranks} ranks are no multiple of {product}")
    if stage % job.ep:
        split = f"{stage} data-parallel ranks are no multiple of ep: {job.ep}"
        raise ConfigError(job.where, f"{split}; SimAI's experts are split over these")
    return ranks
