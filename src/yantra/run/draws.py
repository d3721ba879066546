"""The samples that an interval is drawn from: 64 of each of four standard normal numbers.

Each column has the middle of 64 equal shares of the distribution, in an order of its own (a latin
hypercube; McKay, Beckman and Conover, Technometrics 21, 1979). The orders are permutations of
numpy.random.default_rng(0), written down: they are the same for every run, and that import takes a
tenth of a small one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

SAMPLES, COLUMNS = 64, 4

_UPPER = (
    0.019584285230126924,
    0.05878293606894306,
    0.09807215248866105,
    0.13751340214433588,
    0.1771698209917398,
    0.21710694721012969,
    0.25739352610093824,
    0.29810241293048695,
    0.3393116065388173,
    0.38110545476355645,
    0.4235760842011995,
    0.4668251228525896,
    0.5109658067382474,
    0.5561255936186913,
    0.6024494531644237,
    0.6501040706479952,
    0.6992833023832199,
    0.7502153754679404,
    0.8031725655979177,
    0.858484474141832,
    0.9165566675331125,
    0.977897543940542,
    1.043158263318454,
    1.1131942771609284,
    1.1891643501993368,
    1.2726986411905357,
    1.3662038163720984,
    1.4734675779471014,
    1.6010086648860757,
    1.7616704103630663,
    1.9874278859298957,
    2.417559016236505,
)
"""The upper half of the middles of 64 shares; the lower has their negatives."""

_ORDERS = (
    "10241b082c1735043a320a022a22132f0b392514123d03011e18112e15231c2b"
    "0006161a33303e20193709263b34280d0c072d273f05310e361d293c38210f1f",
    "352a3e1f23253b392d213132362605000d0e1e1534291c3a01033d300c111d10"
    "0b0f18071727241433220a1b203f2b1a08283c092f37161338062e122c020419",
    "33070c342f2e011428151a043900233b083a0538023c2506261d27120a1e212b"
    "0d221b2d36313f111c18350f19292c102a0e133e160b24323d371f3003200917",
    "09071c2a260333242b2e170e3714163220390023123d2935130a1b2c303f1f38"
    "1910010c1d0f06283a1a2511272f0b3c0d21343b15041e2d3118360502083e22",
)
"""Which share each sample of a column is of, in hexadecimal."""


def normals() -> NDArray[np.float64]:
    """Return the samples, a column for each number."""
    import numpy as np

    shares = np.array([*(-one for one in reversed(_UPPER)), *_UPPER])
    return np.stack([shares[list(bytes.fromhex(order))] for order in _ORDERS], axis=1)
