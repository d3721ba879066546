"""From a trace file to what a run executes, without node objects."""

from __future__ import annotations

from yantra import _core
from yantra.base.errors import TraceError
from yantra.chakra import files


def read_graph(
    data: bytes,
    where: str,
    *,
    merge_duplicates: bool = False,
    tensors: bool = False,
    kernels: bool = False,
    collectives_in_order: bool = False,
    launches: _core.Launches | None = None,
) -> _core.Graph:
    """Decode as far as a run needs, and resolve.

    `tensors` keeps tensor lists for local memory tracking, `kernels` what compute models need;
    `collectives_in_order` makes each collective wait for the one before it. `launches` become host
    nodes.
    """
    plain = files.unpack(data, where)
    if files.is_json(plain):
        from yantra.chakra.trace import decode

        native = decode(plain, where)
        if collectives_in_order:
            native = _core.with_collectives_in_order(native)
        return graph_of(native, where, merge_duplicates, kernels=kernels, launches=launches)
    from yantra.chakra.versions import stated_version, tell_if_newer

    tell_if_newer(stated_version(plain), where)
    try:
        return _core.decode_graph(
            plain, merge_duplicates, tensors, kernels, collectives_in_order, launches
        )
    except _core.TraceFault as fault:
        raise not_a_trace(plain, where, fault) from None
    except ValueError as fault:
        raise TraceError(f"{where}: {fault}") from None


def graph_of(
    native: _core.Trace,
    where: str,
    merge_duplicates: bool,
    *,
    kernels: bool,
    launches: _core.Launches | None = None,
) -> _core.Graph:
    try:
        return native.graph(merge_duplicates, kernels, launches)
    except ValueError as fault:
        raise TraceError(f"{where}: {fault}") from None


def not_a_trace(plain: bytes, where: str, fault: Exception) -> TraceError:
    from yantra.chakra.other_formats import recognised

    if profiler := recognised(plain, where):
        return TraceError(f"{where}: {profiler}")
    other = files.what_it_is(plain) if plain else ""
    return TraceError(f"{where}: {fault}" + (f" ({other})" if other else ""))
