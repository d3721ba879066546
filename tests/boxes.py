"""Two boxes of two ranks, one around its own switch, one joined by a link; a leaf joins both."""

LISTED = """\
ranks: [a, b, c, d]
boxes: {left: [a, b], right: [c, d]}
links:
- {from: a, to: inner, bandwidth: 450 GB/s, latency: 300 ns}
- {from: b, to: inner, bandwidth: 450 GB/s, latency: 300 ns}
- {from: c, to: d, bandwidth: 450 GB/s, latency: 300 ns}
- {from: a, to: leaf, bandwidth: 50 GB/s, latency: 500 ns}
- {from: b, to: leaf, bandwidth: 50 GB/s, latency: 500 ns}
- {from: c, to: leaf, bandwidth: 50 GB/s, latency: 500 ns}
- {from: d, to: leaf, bandwidth: 50 GB/s, latency: 500 ns}
"""
