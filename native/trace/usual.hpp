// A graph straight from the bytes of a trace, where the file is as files usually are.
//
// Trade-off: a second way to the same graph, without the columns of a Trace between: it takes half the time
// and a third of the memory. It reads only what needs no judgement: today's layout, distinct ids, known
// fields, attributes of the expected types. At anything else it gives up, and the decoder and
// the builder, which know what to say, read the file from its start.
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

// An attribute in a file: its record, where that is, and where in it the attribute, its value and its end are.
struct ValuePlace {
    std::uint32_t record;
    std::uint32_t node;
    std::size_t at;
    std::uint32_t begin;
    std::uint32_t value;
    std::uint32_t end;
};

// What reading a file needs beside its graph. Files that are read one after the other share it, so that each
// finds the memory of the one before.
struct UsualRoom {
    Vector<std::uint64_t> deps;       // ids, of each record those of its data first
    Vector<std::uint64_t> dep_end;    // of a record
    Vector<std::uint64_t> controls;   // of the record being read
    Vector<std::uint32_t> record;     // of a node
    Vector<std::uint32_t> table, seen, next;
    Vector<std::pair<std::uint32_t, std::string_view>> differing;   // nodes, and their records
    Vector<std::pair<std::uint32_t, std::string_view>> changed;     // nodes, and attributes with another value
    // Of the file that was compared last: values that differed from those of the file before it. Then the next one's.
    Vector<ValuePlace> places;
    Vector<ValuePlace> new_places;
    std::tuple<Vector<std::uint64_t>, Vector<std::uint32_t>, Vector<std::int32_t>,
               Vector<std::uint8_t>> moved;
};

// What build_graph(decode(bytes, Reading::execution), false, kernels) gives, or null.
std::shared_ptr<Graph> usual_graph(std::string_view bytes, bool kernels, UsualRoom& room);

// A file and what usual_graph() gave of it.
struct KnownFile {
    std::string_view bytes;
    const Graph& graph;
};

// The same, of a file that has the nodes of another: the traces of a job's ranks often differ in the names of
// groups alone. Such a graph is a copy, and only records that differ are read, of those that differ in values of
// attributes only these. Null where the nodes differ, too, and for what is not usual.
std::shared_ptr<Graph> usual_graph_like(std::string_view bytes, const KnownFile& before, bool kernels,
                                        UsualRoom& room);

}  // namespace yantra
