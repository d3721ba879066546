// Graph: the dependency graph of one trace, ready to execute (MLCommons Chakra schema 0.0.4). Nodes
// are numbered by ascending id. Attributes are typed columns, which exist only if used; a wrong
// type is only marked.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/shared.hpp"
#include "trace/diagnostic.hpp"
#include "trace/kernel_sizes.hpp"
#include "trace/trace.hpp"

namespace yantra {

// Empty when no node has it.
struct IntColumn {
    enum Kind : std::uint8_t { absent = 0, integer = 1, other = 2 };

    SharedVector<std::uint64_t> value;  // 64 bits, signed or not
    SharedVector<std::uint8_t> kind;    // Kind

    bool empty() const { return kind.empty(); }
    Kind kind_of(std::uint32_t node) const {
        return empty() ? absent : static_cast<Kind>(kind[node]);
    }
};

// From a string list "name, bytes, name, bytes, …". Empty when no node has it.
struct TensorColumn {
    enum Kind : std::uint8_t { absent = 0, list = 1, other = 2 };

    SharedVector<std::uint8_t> kind;         // Kind
    SharedVector<std::uint32_t> begin;       // n + 1; node i owns [begin[i], begin[i + 1])
    SharedVector<std::uint32_t> tensor;      // index into Graph::tensor_names
    SharedVector<std::uint64_t> size_bytes;  // of the tensor
};

struct Graph {
    static constexpr std::int32_t group_absent = -1;
    static constexpr std::int32_t group_other = -2;
    static constexpr std::uint8_t involved_other = 255;

    std::uint32_t size() const { return static_cast<std::uint32_t>(id.size()); }
    std::string_view name(std::uint32_t node) const;
    std::string_view name_there(std::uint32_t at) const;   // a place in name_bytes

    // Else from whole microseconds.
    std::uint64_t recorded_ns(std::uint32_t node, bool whole_microseconds) const {
        const bool exact = !whole_microseconds && duration_ns.kind_of(node) == IntColumn::integer;
        return exact ? duration_ns.value[node] : duration_micros[node] * 1000;
    }

    // Of threads and streams, so no slots are needed.
    bool complete_order = false;

    SharedVector<std::uint64_t> id;
    SharedVector<std::int32_t> type;  // NodeType, or any other number of the file
    SharedVector<std::uint64_t> duration_micros;

    // Distinct parents, data and control together. Missing parents are left out (an error among the
    // diagnostics); a node may be its own parent.
    SharedVector<std::uint32_t> parent_count;
    SharedVector<std::uint32_t> parent_begin, parent;  // in file order: data deps, then ctrl deps
    SharedVector<std::uint32_t> child_begin, child;    // in file order of the child
    SharedVector<std::uint32_t> file_order;            // nodes by first appearance in the file

    IntColumn is_cpu_op, comm_type, comm_size, comm_priority, comm_src, comm_dst, comm_tag;
    IntColumn num_ops, tensor_size, duration_ns;
    IntColumn msg_chunk_cnt, total_chunk_cnt;  // of a collective given without sizes
    IntColumn communication;  // 1 where a computation is marked as communication (communicates.hpp)

    SharedVector<std::int32_t> pg_name;  // index into pg_names, group_absent or group_other; never empty
    std::vector<std::string> pg_names;

    // Empty when no node has it.
    SharedVector<std::int32_t> comm_peer;
    std::vector<std::string> peer_names;

    // Dimension 0 lowest; length 0 = absent. Empty when no node has it.
    SharedVector<std::uint64_t> involved_mask;
    SharedVector<std::uint8_t> involved_len;  // or involved_other: another type, no or over 64 entries

    // Empty unless built with kernels.
    SharedVector<std::int32_t> op_class, dtype, phase;  // as comm_peer, into the names below
    std::vector<std::string> op_classes, dtypes, phases;
    std::array<IntColumn, kernel_sizes.size()> kernel_size;  // in the order of the names

    TensorColumn inputs, outputs;  // the attributes of that name, not the IOInfo fields
    std::vector<std::string> tensor_names;

    SharedVector<std::uint32_t> name_at;  // where the name is in name_bytes, after its length in 4 bytes
    Shared<std::string> name_bytes;       // a frequent name is there only a few times

    std::vector<Diagnostic> diagnostics;

    bool has_errors() const;
};

// A duplicate id is one node: the last record's body, all records' dependencies, the first one's
// place; an error without `merge_duplicates`. Throws TraceFault for 2^32 - 1 or more nodes or
// dependencies.
Graph build_graph(const Trace& trace, bool merge_duplicates, bool kernels = false);

bool says_complete_order(const Trace& trace);

}  // namespace yantra
