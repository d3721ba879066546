// A graph straight from a usual file's bytes.
//
// Trade-off: a second way to the same graph, without a Trace, in half the time and a third of the
// memory. It accepts only today's layout, distinct ids, known fields and expected types; else
// decoder and builder start over.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <tuple>
#include <utility>

#include "base/vector.hpp"
#include "trace/graph.hpp"

namespace yantra {

// An attribute in a file: its record, and the offsets of attribute, value and end.
struct ValuePlace {
    std::uint32_t record;
    std::uint32_t node;
    std::size_t at;
    std::uint32_t begin;
    std::uint32_t value;
    std::uint32_t end;
};

// Scratch memory, reused from file to file.
struct UsualRoom {
    Vector<std::uint64_t> deps;       // ids, of each record those of its data first
    Vector<std::uint64_t> dep_end;    // of a record
    Vector<std::uint64_t> controls;   // of the record being read
    Vector<std::uint32_t> record;     // of a node
    Vector<std::uint32_t> table, seen, next;
    Vector<std::pair<std::uint32_t, std::string_view>> differing;   // nodes, and their records
    Vector<std::pair<std::uint32_t, std::string_view>> changed;     // nodes, and attributes with another value
    // Values in which the last file compared differed from the one before; then the next one's.
    Vector<ValuePlace> places;
    Vector<ValuePlace> new_places;
    std::tuple<Vector<std::uint64_t>, Vector<std::uint32_t>, Vector<std::int32_t>,
               Vector<std::uint8_t>> moved;
};

// build_graph(decode(bytes, Reading::execution), false, kernels), or null.
std::shared_ptr<Graph> usual_graph(std::string_view bytes, bool kernels, UsualRoom& room);

// A file with its usual_graph().
struct KnownFile {
    std::string_view bytes;
    const Graph& graph;
};

// For a file with another's nodes: a job's traces often differ only in group names. The graph is a
// copy in which only differing records or values are read. Null if nodes differ or anything is
// unusual.
std::shared_ptr<Graph> usual_graph_like(std::string_view bytes, const KnownFile& before, bool kernels,
                                        UsualRoom& room);

}  // namespace yantra
