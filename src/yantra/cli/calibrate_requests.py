"""`yantra calibrate requests.csv --model NAME`: an engine's host and kernels from a log."""

from __future__ import annotations

import json
import sys


def make(
    file: str, model: str, cluster: str, settings: tuple[str, ...], output: str, *, as_json: bool
) -> int:
    from yantra.base.output import write_text
    from yantra.cli.serve import read_fields
    from yantra.serving.fit import fitted
    from yantra.serving.fitted_file import text_of
    from yantra.serving.own_log import judged, lines
    from yantra.serving.requests import read_log
    from yantra.serving.serve import serve

    log = read_log(file)
    served = serve(model, cluster, log.requests, intervals=False, **read_fields(settings))
    fit = fitted(served.fleet, log.requests, log.measured)
    asked = served.question.pools[0][1]
    write_text(output, text_of(asked, fit, served.question, file, len(log.requests)))
    if as_json:
        sys.stdout.write(json.dumps({"file": output, **fit.terms._asdict()}, indent=1) + "\n")
        return 0
    own = judged(served.fleet, log.requests, log.measured, served.ran)
    where = output if "/" in output else f"./{output}"
    sys.stdout.write("\n".join(lines(own)) + "\n")
    sys.stdout.write(f"wrote {output}; use it with --engine {where}\n")
    return 0
