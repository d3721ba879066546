// Relative traces: templates whose groups are names and whose peers are expressions, for many ranks.
//
// Trade-off: names and expressions are text here and nothing knows what they mean; whoever does gives
// the ids and ranks that take their places.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>

#include "base/vector.hpp"
#include "trace/trace.hpp"

namespace yantra {

inline constexpr const char* peer_attribute = "comm_peer";

// What the nodes of a template name, in order of first appearance.
struct RelativeNames {
    Vector<std::string> groups;  // "pg_name" of collectives, sends and receives
    Vector<std::string> peers;   // "comm_peer" of sends and receives
};

RelativeNames relative_names(const Trace& trace);

// What they mean for one rank.
struct Meaning {
    std::uint32_t rank = 0;
    std::unordered_map<std::string, std::string> groups;  // name to id
    std::unordered_map<std::string, std::uint32_t> peers;
};

// The trace of one rank: group ids for names, comm_src and comm_dst for peers. Throws
// std::invalid_argument where a name or an expression has no meaning.
Trace resolve(const Trace& trace, const Meaning& meaning);

// Lets each collective wait for the one before it in the file: ASTRA-sim gives a rank one communication
// slot, so ranks that take two ready collectives in different order wait for each other forever.
Trace with_collectives_in_order(const Trace& trace);

}  // namespace yantra
