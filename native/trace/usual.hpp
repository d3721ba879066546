// A graph straight from a usual file's bytes: today's layout, distinct ids, known fields, expected
// types; else decoder and builder start over. Trade-off: a second way to the same graph, in half
// the time and a third of the memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "trace/graph.hpp"

namespace yantra {

struct ValuePlace {
    std::uint32_t record;
    std::uint32_t node;
    std::size_t at;
    std::uint32_t begin;
    std::uint32_t value;
    std::uint32_t end;
};

struct UsualRoom {
    std::vector<std::uint64_t> deps;       // ids, of each record those of its data first
    std::vector<std::uint64_t> dep_end;    // of a record
    std::vector<std::uint64_t> controls;   // of the record being read
    std::vector<std::uint32_t> record;     // of a node
    std::vector<std::uint32_t> table, seen, next;
    std::vector<std::pair<std::uint32_t, std::string_view>> differing;   // nodes, and their records
    std::vector<std::pair<std::uint32_t, std::string_view>> changed;     // nodes, and attributes with another value
    std::vector<ValuePlace> places;
    std::vector<ValuePlace> new_places;
    std::tuple<std::vector<std::uint64_t>, std::vector<std::uint32_t>, std::vector<std::int32_t>,
               std::vector<std::uint8_t>> moved;
};

// build_graph(decode(bytes, Reading::execution), false, kernels), or null.
std::shared_ptr<Graph> usual_graph(std::string_view bytes, bool kernels, UsualRoom& room);

// A file with its usual_graph().
struct KnownFile {
    std::string_view bytes;
    const Graph& graph;
};

// For a file with another's nodes: only differing records or values are read. Null if nodes differ
// or anything is unusual.
std::shared_ptr<Graph> usual_graph_like(std::string_view bytes, const KnownFile& before, bool kernels,
                                        UsualRoom& room);

}  // namespace yantra
