"""The file of an engine that a log of requests gives: its host, and factors of kernels."""

from __future__ import annotations

from math import log, sqrt
from typing import TYPE_CHECKING

from yantra.serving.engines import load

if TYPE_CHECKING:
    from yantra.serving.fit import Fitted
    from yantra.serving.pools import Asked
    from yantra.serving.serve import Question

_TWO_LOGS = 0.1
"""What logs of one GPU judged on another add to the interval, as a logarithm: a tenth."""


def text_of(asked: Asked, fit: Fitted, question: Question, file: str, requests: int) -> str:
    based = load(asked.host or "vllm")
    host, terms = based.host, fit.terms
    name = question.model.name
    cluster = question.cluster.name if question.cluster else ""
    of = f"{requests} requests of {name} on {cluster} [log]"
    width = sqrt((2 * fit.after) ** 2 + log(1 + _TWO_LOGS) ** 2)
    products, attention = based.factors
    return f'''title: {asked.engine} as {requests} requests of {name} on {cluster} have it
version: yours
scheduler: {asked.engine}
{f"kernels: {based.kernels}" if based.kernels else "# kernels: the fastest measured"}

sources:
  log: "{file}"

host:
  iteration: {{value: {host.ns_per_iteration * terms.host:.6g} ns, basis: yours, source: "{of}"}}
  sequence: {{value: {host.ns_per_sequence * terms.host:.6g} ns, basis: yours, source: "{of}"}}
  token: {{value: {host.ns_per_token * terms.host:.6g} ns, basis: yours, source: "{of}"}}

factors:
  products: {{value: {products * terms.products:.6g}, basis: yours, source: "{of}"}}
  attention: {{value: {attention * terms.attention:.6g}, basis: yours, source: "{of}"}}

interval: {{value: {width:.4g}, basis: yours, source: "twice the mean error, and a tenth [log]"}}
'''
