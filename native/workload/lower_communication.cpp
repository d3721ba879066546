#include "workload/lower_communication.hpp"

#include <algorithm>

#include "workload/lower_compute.hpp"

namespace yantra {

namespace {

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

std::string no_algorithm(u64 comm_type, bool named_by_system_file) {
    const CollectiveKind kind = *collective_kind(comm_type);
    const char* key = kind == CollectiveKind::all_reduce       ? "all_reduce"
                      : kind == CollectiveKind::all_gather     ? "all_gather"
                      : kind == CollectiveKind::all_to_all     ? "all_to_all"
                      : kind == CollectiveKind::reduce_scatter ? "reduce_scatter"
                                                               : nullptr;
    const std::string needs = std::string(collective_name(comm_type)) + " has no algorithm here; ";
    if (key == nullptr) {
        return needs + (named_by_system_file ? "ASTRA-sim's semantics have none for it; semantics: yantra runs it"
                                             : "give it one in the collectives of the scenario");
    }
    const std::string in_scenario = "collectives: {" + std::string(key) + ": [ring]}";
    if (!named_by_system_file) {
        return needs + "give it one for each dimension in the scenario, as " + in_scenario;
    }
    std::string in_file(key);
    std::replace(in_file.begin(), in_file.end(), '_', '-');
    return needs + "give it one for each dimension, as \"" + in_file +
           "-implementation\": [\"ring\"] in the system file or " + in_scenario + " in a scenario";
}

// Whether the node's group exists.
bool set_communicator(NodeReader& reader, Op& op) {
    const Graph& graph = reader.graph;
    const i32 group = graph.pg_name[reader.node];
    if (group == Graph::group_other) {
        reader.fail("attribute 'pg_name' is not a string");
        return false;
    }
    const bool is_named = group != Graph::group_absent;
    const u32 found = is_named ? reader.communicators[static_cast<std::size_t>(group)]
                               : reader.communicators.back();
    if (found != none) {
        op.communicator = found;
    } else if (reader.type() == NodeType::comm_coll) {
        reader.fail("communicator group '" +
                    (is_named ? graph.pg_names[static_cast<std::size_t>(group)] : std::string()) +
                    "' is not defined");
        return false;
    }
    return true;
}

u32 peer_of_template(NodeReader& reader) {
    const Graph& graph = reader.graph;
    const auto& peers = reader.options.peers;
    const i32 name = graph.comm_peer.empty() ? Graph::group_absent : graph.comm_peer[reader.node];
    const auto found =
        name < 0 ? peers.end() : peers.find(graph.peer_names[static_cast<std::size_t>(name)]);
    if (found == peers.end()) {
        reader.fail("attribute 'comm_peer' is missing or not a string");
        return 0;
    }
    return found->second;
}

void lower_message(NodeReader& reader, Op& op) {
    const Graph& graph = reader.graph;
    const bool sends = reader.type() == NodeType::comm_send;
    op.kind = sends ? OpKind::send : OpKind::receive;
    op.bytes = reader.size(graph.comm_size, "comm_size", true).value_or(0);
    op.tag = static_cast<u32>(
        static_cast<u32>(reader.integer(graph.comm_tag, "comm_tag", true).value_or(0)) % tag_space);
    if (reader.options.is_template) {
        op.peer = peer_of_template(reader);
        return;
    }
    const std::optional<u64> peer = sends ? reader.integer(graph.comm_dst, "comm_dst", true)
                                          : reader.integer(graph.comm_src, "comm_src", true);
    op.peer = static_cast<u32>(peer.value_or(0));
}

// A group names its ranks itself.
void set_involved(NodeReader& reader, Op& op) {
    const Graph& graph = reader.graph;
    const LowerOptions& options = reader.options;
    const u8 length = graph.involved_len.empty() ? u8{0} : graph.involved_len[reader.node];
    if (length == Graph::involved_other) {
        reader.fail("attribute 'involved_dim' is not a list of at most 64 booleans");
        return;
    }
    const bool by_traces = (options.kinds_by_traces >> static_cast<u32>(op.collective) & 1) != 0;
    if (op.communicator != 0 || op.custom != none || by_traces) {
        return;
    }
    if (length == 0) {
        op.involved = options.involved_by_default;
        return;
    }
    if (length < options.dimensions) {
        reader.fail("attribute 'involved_dim' has " + std::to_string(length) +
                    " entries, but the network has " + std::to_string(options.dimensions) +
                    " dimensions");
        return;
    }
    op.involved = graph.involved_mask[reader.node];
    if ((op.involved & options.covered[static_cast<std::size_t>(op.collective)]) == 0) {
        reader.fail("attribute 'involved_dim' selects no dimension that the collective's algorithms "
                    "cover, so it could never end");
    }
}

void check_algorithms(NodeReader& reader, const Op& op) {
    const LowerOptions& options = reader.options;
    if (op.communicator != 0 || op.custom != none) {
        return;
    }
    const u32 kind = static_cast<u32>(op.collective);
    const u64 visited = op.involved & options.covered[kind];
    for (u32 d = 0; d < options.dimensions; ++d) {
        const bool last = visited >> d == 1;
        const auto reason = options.impossible.find({kind, d, last});
        if ((visited >> d & 1) != 0 && reason != options.impossible.end()) {
            reader.not_supported(reason->second);
        }
    }
}

void lower_collective(NodeReader& reader, Op& op) {
    const Graph& graph = reader.graph;
    const LowerOptions& options = reader.options;
    make_collective(op);
    const std::optional<u64> type = reader.integer(graph.comm_type, "comm_type", true);
    const bool carries_data = type != barrier_type;
    op.bytes = reader.size(graph.comm_size, "comm_size", carries_data).value_or(0);
    op.priority =
        static_cast<i64>(reader.integer(graph.comm_priority, "comm_priority", false).value_or(0));
    if (!type) {
        return;
    }
    const std::optional<CollectiveKind> kind = collective_kind(*type);
    if (!kind) {
        reader.fail("attribute 'comm_type' is " + std::to_string(*type) + ", not a collective (0 to 9)");
        return;
    }
    if (*kind == CollectiveKind::broadcast && options.broadcast_is_a_timer) {
        make_timed(op, recorded_ticks(reader), false);
        return;
    }
    op.collective = *kind;
    const auto custom = options.custom_by_node.find(graph.id[reader.node]);
    if (custom != options.custom_by_node.end()) {
        op.custom = custom->second;
    } else if ((options.offered_kinds >> static_cast<u32>(*kind) & 1) == 0) {
        reader.not_supported(no_algorithm(*type, options.named_by_system_file));
    }
    set_involved(reader, op);
    check_algorithms(reader, op);
}

}  // namespace

void lower_communication(NodeReader& reader, Op& op, bool on_cpu) {
    if (on_cpu && reader.options.missing_is_cpu_op_means_cpu) {
        if (skipped_by_tutorial(reader)) {
            make_skipped(op, true);
        } else {
            make_timed(op, recorded_ticks(reader), false);
        }
        return;
    }
    if (on_cpu) {
        reader.fail("a communication node with 'is_cpu_op' true; communication runs on the device");
        return;
    }
    if (!set_communicator(reader, op)) {
        return;   // other errors follow from it
    }
    if (reader.type() == NodeType::comm_coll) {
        lower_collective(reader, op);
    } else {
        lower_message(reader, op);
    }
}

}  // namespace yantra
