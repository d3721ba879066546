# What the core's signatures name beside its classes, for nanobind's stubgen.
yantra._core.__prefix__:
    \from collections.abc import Sequence
    AttributeScalar = bool | int | float | str | bytes
    AttributeValue = AttributeScalar | list[AttributeScalar] | None
    AttributeRow = tuple[str, int, AttributeValue, str]
    IoTexts = tuple[str, str, str]
