#include "workload/job.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <optional>

#include "base/ensure.hpp"
#include "collective/custom.hpp"

namespace yantra {

namespace {

// Chakra schema 0.0.4.
enum NodeType : i32 {
    invalid_node = 0,
    metadata_node = 1,
    memory_load_node = 2,
    memory_store_node = 3,
    compute_node = 4,
    send_node = 5,
    receive_node = 6,
    collective_node = 7,
};

constexpr u64 barrier_type = 9;
constexpr u64 tag_space = 500'000'000;  // upstream takes point-to-point tags modulo this

const char* collective_name(u64 comm_type) {
    constexpr const char* names[] = {"ALL_REDUCE", "REDUCE",     "ALL_GATHER",     "GATHER",
                                     "SCATTER",    "BROADCAST",  "ALL_TO_ALL",     "REDUCE_SCATTER",
                                     "REDUCE_SCATTER_BLOCK",     "BARRIER"};
    return comm_type < 10 ? names[comm_type] : "unknown";
}

std::optional<CollectiveKind> collective_kind(u64 comm_type) {
    constexpr CollectiveKind kinds[] = {
        CollectiveKind::all_reduce, CollectiveKind::reduce,     CollectiveKind::all_gather,
        CollectiveKind::gather,     CollectiveKind::scatter,    CollectiveKind::broadcast,
        CollectiveKind::all_to_all, CollectiveKind::reduce_scatter,
        CollectiveKind::reduce_scatter, CollectiveKind::barrier};
    return comm_type < 10 ? std::optional(kinds[comm_type]) : std::nullopt;
}

std::vector<Problem> wrong_duration(const Graph& graph, u32 node) {
    constexpr u64 largest = 0x7fffffffffffffff;
    const IntColumn& column = graph.duration_ns;
    if (column.kind_of(node) == IntColumn::other) {
        return {{node, false, "attribute 'duration_ns' is not an integer"}};
    }
    if (column.kind_of(node) == IntColumn::integer && column.value[node] > largest) {
        return {{node, false,
                 "attribute 'duration_ns' is " + std::to_string(static_cast<i64>(column.value[node])) +
                     ", not a time"}};
    }
    return {};
}

// Lowers the nodes of one graph; every defect is a Problem and the pass goes on.
class Lowering {
public:
    Lowering(const Graph& graph, const LowerOptions& options, std::vector<Problem>& problems)
        : graph_(graph), options_(options), problems_(problems) {}

    Op lower(u32 node) {
        node_ = node;
        Op op;
        const bool on_cpu = is_on_cpu();
        set_class(op, on_cpu);
        if (options_.tracks_tensors) {
            require_tensors();
        }
        if (options_.replay_only) {
            set_timed(op, recorded_ticks(), !on_cpu);
            op.resource = slot_of(op, on_cpu);
            return op;
        }
        switch (graph_.type[node]) {
            case memory_load_node:
            case memory_store_node:
                lower_memory(op);
                break;
            case compute_node:
                lower_compute(op, on_cpu);
                break;
            case send_node:
            case receive_node:
            case collective_node:
                lower_communication(op, on_cpu);
                break;
            case invalid_node:
            case metadata_node:
                set_skip(op);
                break;
            default:
                fail("node type " + std::to_string(graph_.type[node]) + " is not one of 0 to 7");
        }
        op.resource = slot_of(op, on_cpu);
        return op;
    }

private:
    void fail(std::string text) { problems_.push_back({node_, false, std::move(text)}); }
    void not_supported(std::string text) { problems_.push_back({node_, true, std::move(text)}); }

    std::optional<u64> integer(const IntColumn& column, const char* name, bool required) {
        switch (column.kind_of(node_)) {
            case IntColumn::integer:
                return column.value[node_];
            case IntColumn::other:
                fail(std::string("attribute '") + name + "' is not an integer");
                return std::nullopt;
            case IntColumn::absent:
                break;
        }
        if (required) {
            fail(std::string("attribute '") + name + "' is missing");
        }
        return std::nullopt;
    }

    bool is_on_cpu() {
        if (graph_.is_cpu_op.kind_of(node_) == IntColumn::absent) {
            return options_.missing_is_cpu_op_means_cpu;
        }
        return integer(graph_.is_cpu_op, "is_cpu_op", false).value_or(0) != 0;
    }

    void set_class(Op& op, bool on_cpu) const {
        switch (graph_.type[node_]) {
            case memory_load_node:
            case memory_store_node:
                op.node_class = NodeClass::memory;
                return;
            case compute_node:
                op.node_class = on_cpu ? NodeClass::cpu : NodeClass::gpu;
                return;
            case send_node:
            case receive_node:
            case collective_node:
                op.node_class = NodeClass::communication;
                return;
            default:
                op.node_class = NodeClass::invalid;
        }
    }

    // Whether a node holds a slot although its trace orders all threads and streams by itself.
    bool needs_slot(bool on_cpu) const {
        if (options_.replay_only) {
            return false;
        }
        if (on_cpu) {
            return options_.cpu_slots_count;
        }
        return graph_.type[node_] != compute_node || options_.compute_slots_count;
    }

    u8 slot_of(const Op& op, bool on_cpu) const {
        const ResourceMap& map = options_.resources;
        if (graph_.complete_order && !needs_slot(on_cpu)) {
            return unlimited;
        }
        if (on_cpu) {
            return map.cpu;
        }
        switch (graph_.type[node_]) {
            case compute_node:
                return map.compute;
            case receive_node:
                return unlimited;
            case memory_load_node:
            case memory_store_node:
                return map.memory;
            case send_node:
                return map.send[op.communicator];
            case collective_node:
                return map.collective[op.communicator];
            default:
                return options_.skipped_nodes_do_not_wake ? map.memory : unlimited;
        }
    }

    u64 recorded_ticks() {
        if (!options_.whole_microseconds) {
            for (Problem& problem : wrong_duration(graph_, node_)) {
                problems_.push_back(std::move(problem));
            }
        }
        const u64 ns = graph_.recorded_ns(node_, options_.whole_microseconds);
        if (ns == 0 && options_.no_duration_takes_a_nanosecond) {
            return options_.scale.whole(1);
        }
        return options_.scale.whole(ns);
    }

    static void set_timed(Op& op, u64 ticks, bool counts_as_compute) {
        op.kind = OpKind::timed;
        op.ticks = ticks;
        op.busy_ticks = counts_as_compute ? ticks : 0;
    }

    void set_skip(Op& op) const {
        op.kind = OpKind::skip;
        op.wakes = !options_.skipped_nodes_do_not_wake;
    }

    void require_tensors() {
        for (const auto& [column, name] : {std::pair{&graph_.inputs, "inputs"},
                                           std::pair{&graph_.outputs, "outputs"}}) {
            if (column->kind.empty() || column->kind[node_] == TensorColumn::absent) {
                fail(std::string("attribute '") + name +
                     "' is missing; tracking local memory needs it on every node");
            }
        }
    }

    void lower_memory(Op& op) {
        op.kind = OpKind::memory;
        op.bytes = integer(graph_.tensor_size, "tensor_size", true).value_or(0);
        if (!options_.remote_memory) {
            fail("a remote memory access, but the cluster has no remote memory");
        }
    }

    void lower_compute(Op& op, bool on_cpu) {
        if (on_cpu && options_.missing_is_cpu_op_means_cpu && skipped_by_tutorial()) {
            set_skip(op);
            op.wakes = true;
            return;
        }
        if (!options_.roofline.enabled || on_cpu) {
            set_timed(op, recorded_ticks(), !on_cpu);
            return;
        }
        const u64 operations = integer(graph_.num_ops, "num_ops", true).value_or(0);
        const u64 bytes = integer(graph_.tensor_size, "tensor_size", true).value_or(1);
        if (bytes == 0 && options_.zero_byte_kernel_is_skipped) {
            set_skip(op);
            return;
        }
        set_timed(op, roofline_ticks(operations, bytes), true);
    }

    bool skipped_by_tutorial() const {
        const bool counts = graph_.num_ops.kind_of(node_) == IntColumn::integer &&
                            graph_.num_ops.value[node_] != 0;
        return graph_.duration_micros[node_] == 0 && !counts;
    }

    // The roofline of Williams, Waterman and Patterson, CACM 2009, in upstream's order of operations.
    u64 roofline_ticks(u64 operations, u64 bytes) const {
        const Roofline& roofline = options_.roofline;
        if (operations == 0 && !options_.zero_op_kernel_never_ends) {
            return options_.scale.ticks(static_cast<double>(bytes) / roofline.memory_bytes_per_s * 1e9);
        }
        const double ops = static_cast<double>(operations);
        if (bytes == 0) {
            return options_.scale.ticks(ops / roofline.peak_flops * 1e9);
        }
        const double intensity = ops / static_cast<double>(bytes);
        const double flops = std::min(roofline.memory_bytes_per_s * intensity, roofline.peak_flops);
        return options_.scale.ticks(ops / flops * 1e9);
    }

    void lower_communication(Op& op, bool on_cpu) {
        if (on_cpu && options_.missing_is_cpu_op_means_cpu) {
            if (skipped_by_tutorial()) {
                set_skip(op);
                op.wakes = true;
            } else {
                set_timed(op, recorded_ticks(), false);
            }
            return;
        }
        if (on_cpu) {
            fail("a communication node with 'is_cpu_op' true; communication runs on the device");
            return;
        }
        set_communicator(op);
        if (graph_.type[node_] == collective_node) {
            lower_collective(op);
        } else {
            lower_point_to_point(op, graph_.type[node_] == send_node);
        }
    }

    void set_communicator(Op& op) {
        const i32 group = graph_.pg_name[node_];
        if (group == Graph::group_other) {
            fail("attribute 'pg_name' is not a string");
            return;
        }
        const bool point_to_point = graph_.type[node_] != collective_node;
        const std::string name =
            group == Graph::group_absent ? "" : graph_.pg_names[static_cast<std::size_t>(group)];
        const auto found = options_.communicators.find(name);
        if (found != options_.communicators.end()) {
            op.communicator = found->second;
        } else if (!point_to_point) {
            fail("communicator group '" + name + "' is not defined");
        }
    }

    void lower_point_to_point(Op& op, bool sends) {
        op.kind = sends ? OpKind::send : OpKind::receive;
        op.bytes = integer(graph_.comm_size, "comm_size", true).value_or(0);
        op.tag = static_cast<u32>(
            static_cast<u32>(integer(graph_.comm_tag, "comm_tag", true).value_or(0)) % tag_space);
        if (options_.is_template) {
            op.peer = place_of_peer();
            return;
        }
        const std::optional<u64> peer = sends ? integer(graph_.comm_dst, "comm_dst", true)
                                              : integer(graph_.comm_src, "comm_src", true);
        op.peer = static_cast<u32>(peer.value_or(0));
    }

    u32 place_of_peer() {
        const i32 name = graph_.comm_peer.empty() ? Graph::group_absent : graph_.comm_peer[node_];
        const auto found = name < 0 ? options_.peers.end()
                                    : options_.peers.find(graph_.peer_names[static_cast<std::size_t>(name)]);
        if (found == options_.peers.end()) {
            fail("attribute 'comm_peer' is missing or not a string");
            return 0;
        }
        return found->second;
    }

    void lower_collective(Op& op) {
        op.kind = OpKind::collective;
        const std::optional<u64> type = integer(graph_.comm_type, "comm_type", true);
        const bool carries_data = type != barrier_type;
        op.bytes = integer(graph_.comm_size, "comm_size", carries_data).value_or(0);
        op.priority =
            static_cast<i64>(integer(graph_.comm_priority, "comm_priority", false).value_or(0));
        if (!type) {
            return;
        }
        const std::optional<CollectiveKind> kind = collective_kind(*type);
        if (!kind) {
            fail("attribute 'comm_type' is " + std::to_string(*type) + ", not a collective (0 to 9)");
            return;
        }
        if (*kind == CollectiveKind::broadcast && options_.broadcast_is_a_timer) {
            set_timed(op, recorded_ticks(), false);
            return;
        }
        op.collective = *kind;
        const auto custom = options_.custom_by_node.find(graph_.id[node_]);
        if (custom != options_.custom_by_node.end()) {
            op.custom = custom->second;
        } else if ((options_.offered_kinds >> static_cast<u32>(*kind) & 1) == 0) {
            not_supported(std::string(collective_name(*type)) +
                          " has no algorithm here; give it one in the collectives of the scenario");
        }
        set_involved(op);
        check_algorithms(op);
    }

    void set_involved(Op& op) {
        if (graph_.involved_len.empty() || graph_.involved_len[node_] == 0) {
            return;
        }
        const u8 length = graph_.involved_len[node_];
        if (length == Graph::involved_other) {
            fail("attribute 'involved_dim' is not a list of at most 64 booleans");
            return;
        }
        if (op.communicator != 0 || op.custom != none) {
            return;  // a group names its ranks itself
        }
        if (length < options_.dimensions) {
            fail("attribute 'involved_dim' has " + std::to_string(length) +
                 " entries, but the network has " + std::to_string(options_.dimensions) +
                 " dimensions");
            return;
        }
        op.involved = graph_.involved_mask[node_];
        if ((op.involved & options_.covered[static_cast<std::size_t>(op.collective)]) == 0) {
            fail("attribute 'involved_dim' selects no dimension that the collective's algorithms "
                 "cover, so it could never end");
        }
    }

    void check_algorithms(const Op& op) {
        if (op.communicator != 0 || op.custom != none) {
            return;
        }
        const u32 kind = static_cast<u32>(op.collective);
        const u64 visited = op.involved & options_.covered[kind];
        for (u32 d = 0; d < options_.dimensions; ++d) {
            const bool last = visited >> d == 1;
            const auto reason = options_.impossible.find({kind, d, last});
            if ((visited >> d & 1) != 0 && reason != options_.impossible.end()) {
                not_supported(reason->second);
            }
        }
    }

    const Graph& graph_;
    const LowerOptions& options_;
    std::vector<Problem>& problems_;
    u32 node_ = 0;
};

}  // namespace

std::shared_ptr<const Job> lower(std::shared_ptr<const Graph> graph, const LowerOptions& options,
                                 std::vector<Problem>& problems) {
    auto job = std::make_shared<Job>();
    job->ops.reserve(graph->size());
    Lowering lowering(*graph, options, problems);
    for (u32 node = 0; node < graph->size(); ++node) {
        Op op = lowering.lower(node);
        if (op.kind == OpKind::timed &&
            options.takes_no_time[static_cast<std::size_t>(op.node_class)]) {
            op.ticks = op.busy_ticks = 0;
        }
        job->ops.push_back(op);
    }
    job->graph = std::move(graph);
    return job;
}

std::vector<Problem> check_custom(const Graph& graph, u32 positions, bool whole_microseconds) {
    std::vector<Problem> problems;
    auto require = [&](u32 node, const IntColumn& column, const char* name) {
        if (column.kind_of(node) != IntColumn::integer) {
            problems.push_back({node, false, std::string("attribute '") + name + "' is missing or not an integer"});
            return u64{0};
        }
        return column.value[node];
    };
    auto require_chunks = [&](u32 node) {
        const u64 chunks = require(node, graph.msg_chunk_cnt, "msg_chunk_cnt");
        const u64 total = require(node, graph.total_chunk_cnt, "total_chunk_cnt");
        if (has_chunks(graph, node) && (chunks >> 31U != 0 || total >> 31U != 0 || total == 0)) {
            problems.push_back({node, false,
                                "attributes 'msg_chunk_cnt' and 'total_chunk_cnt' are " +
                                    std::to_string(static_cast<i64>(chunks)) + " and " +
                                    std::to_string(static_cast<i64>(total)) +
                                    "; expected 0 or more chunks of 1 or more, both below 2^31"});
        }
    };
    auto require_size = [&](u32 node) {
        const bool in_chunks = graph.msg_chunk_cnt.kind_of(node) != IntColumn::absent ||
                               graph.total_chunk_cnt.kind_of(node) != IntColumn::absent;
        if (graph.comm_size.kind_of(node) == IntColumn::absent && in_chunks) {
            require_chunks(node);
        } else {
            require(node, graph.comm_size, "comm_size");
        }
    };
    for (u32 node = 0; node < graph.size(); ++node) {
        if (graph.type[node] == compute_node) {
            if (has_chunks(graph, node)) {
                require_chunks(node);
            }
            if (!whole_microseconds) {
                std::ranges::move(wrong_duration(graph, node), std::back_inserter(problems));
            }
            continue;
        }
        if (graph.type[node] != send_node && graph.type[node] != receive_node) {
            problems.push_back({node, false,
                                "node type " + std::to_string(graph.type[node]) +
                                    " in a custom collective; expected COMM_SEND (5), COMM_RECV (6) or COMP (4)"});
            continue;
        }
        require_size(node);
        require(node, graph.comm_tag, "comm_tag");
        const bool sends = graph.type[node] == send_node;
        const u64 peer = require(node, sends ? graph.comm_dst : graph.comm_src, sends ? "comm_dst" : "comm_src");
        if (peer >= positions) {
            problems.push_back({node, false,
                                std::string("attribute '") + (sends ? "comm_dst" : "comm_src") + "' is " +
                                    std::to_string(static_cast<i64>(peer)) + ", but the ranks are 0 to " +
                                    std::to_string(positions - 1)});
        }
    }
    return problems;
}

std::vector<Problem> check_rank(const Job& job, u32 rank, u32 ranks,
                                const std::function<bool(u32)>& is_member) {
    std::vector<Problem> problems;
    const Graph& graph = *job.graph;
    for (u32 node = 0; node < job.ops.size(); ++node) {
        const Op& op = job.ops[node];
        if (op.kind == OpKind::collective) {
            if (!is_member(op.communicator)) {
                problems.push_back({node, false,
                                    "rank " + std::to_string(rank) +
                                        " is not a member of the collective's group"});
            }
            continue;
        }
        if (op.kind != OpKind::send && op.kind != OpKind::receive) {
            continue;
        }
        const bool sends = op.kind == OpKind::send;
        const IntColumn& own = sends ? graph.comm_src : graph.comm_dst;
        const char* own_name = sends ? "comm_src" : "comm_dst";
        const char* peer_name = sends ? "comm_dst" : "comm_src";
        if (own.kind_of(node) == IntColumn::integer && own.value[node] != rank) {
            problems.push_back({node, false,
                                std::string("attribute '") + own_name + "' is " +
                                    std::to_string(static_cast<i64>(own.value[node])) +
                                    ", but the trace is rank " + std::to_string(rank) + "'s"});
        }
        if (op.peer >= ranks) {
            problems.push_back({node, false,
                                std::string("attribute '") + peer_name + "' is " +
                                    std::to_string(static_cast<i32>(op.peer)) +
                                    ", but the ranks are 0 to " + std::to_string(ranks - 1)});
        } else if (op.peer == rank) {
            problems.push_back({node, false,
                                std::string("attribute '") + peer_name +
                                    "' is the rank itself; a message needs two ranks"});
        }
    }
    return problems;
}

}  // namespace yantra
