#include "workload/lowering.hpp"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/ensure.hpp"
#include "workload/lower_communication.hpp"
#include "workload/lower_compute.hpp"
#include "workload/node_reader.hpp"
#include "workload/slots.hpp"

namespace yantra {

namespace {

NodeClass class_of(const NodeReader& reader, bool on_cpu) {
    switch (reader.type()) {
        case NodeType::mem_load:
        case NodeType::mem_store:
            return NodeClass::memory;
        case NodeType::comp:
            if (is_delay(reader.graph, reader.node)) {
                return on_cpu ? NodeClass::unexplained_host : NodeClass::unexplained_device;
            }
            return on_cpu                     ? NodeClass::cpu
                   : communicates(reader) ? NodeClass::communication
                                          : NodeClass::gpu;
        case NodeType::comm_send:
        case NodeType::comm_recv:
        case NodeType::comm_coll:
            return NodeClass::communication;
        default:
            return NodeClass::invalid;
    }
}

void require_tensors(NodeReader& reader) {
    for (const auto& [column, name] : {std::pair{&reader.graph.inputs, "inputs"},
                                       std::pair{&reader.graph.outputs, "outputs"}}) {
        if (column->kind.empty() || column->kind[reader.node] == TensorColumn::absent) {
            reader.fail(std::string("attribute '") + name +
                        "' is missing; tracking local memory needs it on every node");
        }
    }
}

void lower_memory(NodeReader& reader, Op& op) {
    op.kind = OpKind::memory;
    op.bytes = reader.size(reader.graph.tensor_size, "tensor_size", true).value_or(0);
    if (!reader.options.remote_memory) {
        reader.fail("a remote memory access, but the cluster has no remote memory");
    }
    if (reader.options.accesses != nullptr) {
        op.ticks = reader.options.accesses->ticks(reader.graph, reader.node, op.bytes,
                                                  reader.type() == NodeType::mem_store);
    }
}

void lower_by_type(NodeReader& reader, Op& op, bool on_cpu) {
    switch (reader.type()) {
        case NodeType::mem_load:
        case NodeType::mem_store:
            lower_memory(reader, op);
            break;
        case NodeType::comp:
            lower_compute(reader, op, on_cpu);
            if (reader.options.kernels_share_bandwidth && !on_cpu) {
                op.bytes = reader.size(reader.graph.tensor_size, "tensor_size", false).value_or(0);
            }
            break;
        case NodeType::comm_send:
        case NodeType::comm_recv:
        case NodeType::comm_coll:
            lower_communication(reader, op, on_cpu);
            break;
        case NodeType::invalid:
        case NodeType::metadata:
            make_skipped(op, !reader.options.skipped_nodes_do_not_wake);
            break;
        default:
            reader.fail("node type " + std::to_string(reader.graph.type[reader.node]) + " is not one of 0 to 7");
    }
}

Op lower_node(NodeReader& reader) {
    const LowerOptions& options = reader.options;
    Op op;
    const bool on_cpu = reader.is_on_cpu();
    op.node_class = class_of(reader, on_cpu);
    if (options.tracks_tensors) {
        require_tensors(reader);
    }
    if (options.replay_only) {
        make_timed(op, recorded_ticks(reader), computes(reader, on_cpu));
    } else {
        lower_by_type(reader, op, on_cpu);
    }
    op.resource = slot_of(reader, op, on_cpu);
    if (op.kind == OpKind::timed && options.takes_no_time[static_cast<std::size_t>(op.node_class)]) {
        op.ticks = op.busy_ticks = 0;
    }
    return op;
}

std::vector<u32> communicators_of(const Graph& graph, const LowerOptions& options) {
    std::vector<u32> of_names;
    const auto add = [&](const std::string& name) {
        const auto found = options.communicators.find(name);
        of_names.push_back(found == options.communicators.end() ? none : found->second);
    };
    std::ranges::for_each(graph.pg_names, add);
    add("");
    return of_names;
}

bool have_the_same_kernels(const Graph& one, const Graph& other) {
    const auto are_one = [](const IntColumn& of_one, const IntColumn& of_other) {
        return of_one.value.is(of_other.value) && of_one.kind.is(of_other.kind);
    };
    return one.type.is(other.type) && one.duration_micros.is(other.duration_micros) &&
           are_one(one.duration_ns, other.duration_ns) && are_one(one.is_cpu_op, other.is_cpu_op) &&
           are_one(one.communication, other.communication) && are_one(one.num_ops, other.num_ops) && are_one(one.tensor_size, other.tensor_size) &&
           one.inputs.kind.is(other.inputs.kind) && one.outputs.kind.is(other.outputs.kind) &&
           one.complete_order == other.complete_order;
}

bool is_kernel(const Graph& graph, u32 node) { return static_cast<NodeType>(graph.type[node]) == NodeType::comp; }

// Longer than a run may last.
void check_busy(NodeReader& reader, const std::vector<Op>& ops) {
    u64 busy_ticks = 0;
    for (reader.node = 0; reader.node < ops.size(); ++reader.node) {
        const Op& op = ops[reader.node];
        if (op.kind == OpKind::timed &&
            (__builtin_add_overflow(busy_ticks, op.busy_ticks, &busy_ticks) || busy_ticks > latest_tick)) {
            reader.fail("with it, the rank computes for longer than the " +
                        std::to_string(reader.options.scale.longest_ns()) + " ns that a run may last");
            return;
        }
    }
}

}  // namespace

std::shared_ptr<const Job> lower(std::shared_ptr<const Graph> graph, const LowerOptions& options,
                                 std::vector<Problem>& problems, const Job* known) {
    auto job = std::make_shared<Job>();
    NodeReader reader{*graph, options, problems, nullptr, communicators_of(*graph, options)};
    if (options.kernels != nullptr) {
        reader.kernel_rows = options.kernels->rows_of(*graph);
        ensure(reader.kernel_rows != nullptr, "lowering: kernels of another graph");
    }
    const bool kernels_are_known =
        known != nullptr && options.kernels == nullptr && have_the_same_kernels(*graph, *known->graph);
    if (kernels_are_known) {
        job->ops = known->ops;
    } else {
        job->ops.resize(graph->size());
    }
    const std::size_t found = problems.size();
    bool is_busy_anew = !kernels_are_known;   // else it computes as long as the known one
    for (; reader.node < graph->size(); ++reader.node) {
        if (!kernels_are_known || !is_kernel(*graph, reader.node)) {
            const Op op = lower_node(reader);
            is_busy_anew |= op.kind == OpKind::timed;
            job->ops[reader.node] = op;
        }
    }
    if (is_busy_anew && problems.size() == found) {
        check_busy(reader, job->ops);
    }
    const bool are_children_known = known != nullptr && graph->child.is(known->graph->child) &&
                                    graph->child_begin.is(known->graph->child_begin) &&
                                    graph->parent_count.is(known->graph->parent_count);
    job->only_child = are_children_known ? known->only_child : only_children(*graph);
    job->graph = std::move(graph);
    return job;
}

}  // namespace yantra
