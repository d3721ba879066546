#include "workload/lower_compute.hpp"

#include <algorithm>
#include <utility>

#include "workload/checks.hpp"

namespace yantra {

namespace {

// Williams, Waterman and Patterson, CACM 2009; upstream's order of operations.
double roofline_ns(const LowerOptions& options, u64 operations, u64 bytes) {
    const Roofline& roofline = options.roofline;
    if (operations == 0 && !options.zero_op_kernel_never_ends) {
        return static_cast<double>(bytes) / roofline.memory_bytes_per_s * 1e9;
    }
    const double ops = static_cast<double>(operations);
    if (bytes == 0) {
        return ops / roofline.peak_flops * 1e9;
    }
    const double intensity = ops / static_cast<double>(bytes);
    const double flops = std::min(roofline.memory_bytes_per_s * intensity, roofline.peak_flops);
    return ops / flops * 1e9;
}

// No model, or a kernel of a recording without what the model needs.
bool takes_recorded_time(const NodeReader& reader) {
    if (reader.kernel_rows != nullptr) {
        return (*reader.kernel_rows)[reader.node] == none;
    }
    if (!reader.options.roofline.enabled) {
        return true;
    }
    return reader.options.kernels_may_communicate && lacks_work(reader.graph, reader.node, true, true);
}

}  // namespace

void lower_compute(NodeReader& reader, Op& op, bool on_cpu) {
    const LowerOptions& options = reader.options;
    const Graph& graph = reader.graph;
    if (on_cpu && options.missing_is_cpu_op_means_cpu && skipped_by_tutorial(reader)) {
        make_skipped(op, true);
        return;
    }
    if (communicates(reader) || on_cpu || takes_recorded_time(reader)) {
        make_timed(op, recorded_ticks(reader), computes(reader, on_cpu));
        return;
    }
    if (reader.kernel_rows != nullptr) {
        make_timed(op, options.kernels->ticks((*reader.kernel_rows)[reader.node]), true);
        return;
    }
    const u64 operations = reader.size(graph.num_ops, "num_ops", true).value_or(0);
    const u64 bytes = reader.size(graph.tensor_size, "tensor_size", true).value_or(1);
    if (bytes == 0 && options.zero_byte_kernel_is_skipped) {
        make_skipped(op, !options.skipped_nodes_do_not_wake);
        return;
    }
    make_timed(op, reader.ticks(roofline_ns(options, operations, bytes)), true);
}

u64 recorded_ticks(NodeReader& reader) {
    const LowerOptions& options = reader.options;
    if (!check_duration(reader.graph, reader.node, options.whole_microseconds, options.scale.longest_ns(),
                        reader.problems)) {
        return 0;
    }
    const u64 ns = reader.graph.recorded_ns(reader.node, options.whole_microseconds);
    if (ns == 0 && options.no_duration_takes_a_nanosecond) {
        return options.scale.whole(1);
    }
    return options.scale.whole(ns);
}

bool computes(const NodeReader& reader, bool on_cpu) {
    const bool is_own = reader.options.kernels_may_communicate && is_delay(reader.graph, reader.node);
    return !on_cpu && !communicates(reader) && !is_own;
}

bool skipped_by_tutorial(const NodeReader& reader) {
    const Graph& graph = reader.graph;
    const bool has_operations = graph.num_ops.kind_of(reader.node) == IntColumn::integer &&
                                graph.num_ops.value[reader.node] != 0;
    return graph.duration_micros[reader.node] == 0 && !has_operations;
}

}  // namespace yantra
