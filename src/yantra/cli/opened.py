"""The one file that a command takes: as typed, or what recordings of one job were converted to."""

from __future__ import annotations

from collections.abc import Sequence

import click


def one_file(
    files: Sequence[str], step: int | None, host_time: str | None, cluster: str | None
) -> str | None:
    """The file to run; recordings are converted, with the step and host time asked for."""
    from yantra.base.errors import ConfigError
    from yantra.scenario.recognise import is_recording

    asked = next((name for name, given in (("--step", step), ("--host-time", host_time))
                  if given is not None), "")  # fmt: skip
    if not files:
        if asked:
            raise click.UsageError(f"{asked} goes with a recording; none is given")
        return None
    if len(files) == 1 and not asked and (cluster is None or not is_recording(files[0])):
        return files[0]
    if cluster is None:
        problem = "a recording, which does not name a cluster; add --cluster hgx-h100 or another"
        raise ConfigError(files[0], f"{problem} (yantra cluster show)")

    from yantra.cli.progress import progress
    from yantra.scenario.recordings import How, opened
    from yantra.tracing.host_time import factor_of

    how = How(step, 1.0 if host_time is None else factor_of(host_time, "--host-time"))
    with progress("converting", counted=True) as report:
        return opened(files, how, report)
