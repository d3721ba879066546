"""What the traces of a job hold: counts, bytes, operations, time, paths, parallelism.

stats = job_stats(load_job(["job.{rank}.et"]))
print(report(stats))            # tables as plain text
as_dict(stats)                  # the same for JSON; units stand in the names
"""

from yantra.tracing.inspect.stats.job import JobStats, as_dict, job_stats, stats_of_files
from yantra.tracing.inspect.stats.text import report

__all__ = ["JobStats", "as_dict", "job_stats", "report", "stats_of_files"]
