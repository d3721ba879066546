"""Requests made by rules, one file each, and the text that says which.

poisson:rate=10/s,count=1000,isl=1024,osl=lognormal:128:900,seed=1
sessions:rate=2/s,count=50,turns=8,delay=4s,system=2000,isl=300,osl=200
poisson:rate=4/s,count=5000,like=azure_conv.csv.gz
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from yantra.base.registry import Registry

if TYPE_CHECKING:
    from yantra.serving.requests.arrivals.rule import Rule
    from yantra.serving.requests.types import Requests

rules: Registry[type[Rule]] = Registry(
    "rule of arrivals",
    "yantra.serving.requests.arrivals",
    "yantra.request_arrivals",
    base="yantra.serving.requests.arrivals.rule.Rule",
)


def generate(kind: str, *, where: str = "", **options: Any) -> Requests:
    """Return the requests of a rule; options are as in a text: `rate=10`, `isl="normal:512:900"`.

    Raises ConfigError.
    """
    from yantra.serving.requests.arrivals.rule import requests_by

    return requests_by(rules.get(kind, where or "requests"), options, where or kind)


def load(text: str, *, sort: bool = False) -> Requests:
    """Return the requests of a file, or of a rule's text `kind:key=value,key=value`.

    A file of that name comes first. Raises ConfigError, with the key or the line.
    """
    from yantra.serving.requests.arrivals.text import options_of

    found = options_of(text)
    if found is None:
        from yantra.serving.requests.reading import read

        return read(text, sort=sort)
    kind, options = found
    return generate(kind, **options)
