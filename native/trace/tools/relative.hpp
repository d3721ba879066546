// Relative traces: templates for many ranks, with names for groups and expressions for peers, as
// text.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "trace/trace.hpp"

namespace yantra {

inline constexpr const char* peer_attribute = "comm_peer";

// Names in order of first appearance.
struct RelativeNames {
    std::vector<std::string> groups;  // "pg_name" of collectives, sends and receives
    std::vector<std::string> peers;   // "comm_peer" of sends and receives
};

RelativeNames relative_names(const Trace& trace);

// What names mean for one rank.
struct Meaning {
    std::uint32_t rank = 0;
    std::unordered_map<std::string, std::string> groups;  // name to id
    std::unordered_map<std::string, std::uint32_t> peers;
};

// With group ids, comm_src and comm_dst. Throws std::invalid_argument.
Trace resolve(const Trace& trace, const Meaning& meaning);

// ASTRA-sim gives a rank one communication slot, so different orders on two ranks would deadlock.
Trace with_collectives_in_order(const Trace& trace);

}  // namespace yantra
