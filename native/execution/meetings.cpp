#include "execution/meetings.hpp"

#include <string>

namespace yantra::inline YANTRA_RUN {

namespace {

u64 mixed(u64 hash, u64 value) {
    value ^= value >> 33U;
    value *= 0xff51afd7ed558ccdU;
    value ^= value >> 33U;
    value *= 0xc4ceb9fe1a85ec53U;
    value ^= value >> 33U;
    return (hash ^ value) * 0xff51afd7ed558ccdU;
}

// FNV-1a of 64 bits.
u64 hash_of(const std::string& text) {
    u64 hash = 1469598103934665603U;
    for (const char each : text) {
        hash = (hash ^ static_cast<unsigned char>(each)) * 1099511628211U;
    }
    return hash;
}

u64 value_of(const IntColumn& column, u32 node) { return column.value.empty() ? 0 : column.value[node]; }

}  // namespace

u64 Meetings::key_of(const Graph& graph, u32 node, u64 bytes) {
    const std::int32_t group = graph.pg_name[node];
    const std::string name = group < 0 ? std::string() : std::string(graph.pg_names[static_cast<std::size_t>(group)]);
    u64 hash = mixed(0, value_of(graph.comm_type, node));
    hash = mixed(hash, bytes);
    hash = mixed(hash, static_cast<u32>(value_of(graph.comm_tag, node)));
    return mixed(hash, hash_of(name));
}

bool Meetings::come(u64 key, u32 communicator, const Call& call) {
    std::list<Meeting>& meetings = meetings_[key];
    const u64 rank = call.actor.index();
    auto meeting = meetings.begin();
    while (meeting != meetings.end() && meeting->came.contains(rank)) {
        ++meeting;
    }
    if (meeting == meetings.end()) {
        meeting = meetings.emplace(meeting);
        const u32 base = model_.collectives.communicators[communicator].base;
        const Shape& shape = *model_.collectives.layout_of(communicator).shape;
        for (u32 i = 0; i < shape.size(); ++i) {
            meeting->missing.insert(base + shape.offset(i));
        }
    }
    meeting->came[rank] = call.node;
    meeting->missing.erase(rank);
    return meeting->missing.empty();
}

}  // namespace yantra
