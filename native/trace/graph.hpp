// Graph: the dependency graph of one trace, ready to execute.
//
// Nodes are numbered 0 … n-1 in ascending id, so that issuing in id order is issuing in index order. The
// attributes an executor reads are typed columns; the rest stays in the Trace, which may be dropped.
// Trade-off: a column exists only if some node has the attribute, so memory follows use; a wrong type is
// marked and not refused, because only the executor knows whether the value will be needed.
// Source: MLCommons Chakra schema 0.0.4; attribute names as its converters write them.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/shared.hpp"
#include "base/vector.hpp"
#include "trace/diagnostic.hpp"
#include "trace/kernel_sizes.hpp"
#include "trace/trace.hpp"

namespace yantra {

// One integer attribute of every node. Both vectors are empty when no node has it.
struct IntColumn {
    enum Kind : std::uint8_t { absent = 0, integer = 1, other = 2 };

    SharedVector<std::uint64_t> value;  // the bits of the 64-bit value, signed or not
    SharedVector<std::uint8_t> kind;    // Kind

    bool empty() const { return kind.empty(); }
    Kind kind_of(std::uint32_t node) const {
        return empty() ? absent : static_cast<Kind>(kind[node]);
    }
};

// The tensors a node reads or writes, from a string list "name, bytes, name, bytes, …". All vectors are
// empty when no node has the attribute.
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

    // The recorded duration in nanoseconds: exact where the node says it and that is wanted, else that of
    // its whole microseconds.
    std::uint64_t recorded_ns(std::uint32_t node, bool whole_microseconds) const {
        const bool exact = !whole_microseconds && duration_ns.kind_of(node) == IntColumn::integer;
        return exact ? duration_ns.value[node] : duration_micros[node] * 1000;
    }

    // The trace says that its dependencies hold every order of its threads and streams, so that no
    // scarce slot is needed to keep their operations apart.
    bool complete_order = false;

    SharedVector<std::uint64_t> id;
    SharedVector<std::int32_t> type;  // NodeType, or any other number of the file
    SharedVector<std::uint64_t> duration_micros;

    // Distinct parents, data and control together. A parent id the trace lacks is left out (and is an
    // error among the diagnostics); a node that depends on itself is its own parent.
    SharedVector<std::uint32_t> parent_count;
    SharedVector<std::uint32_t> parent_begin, parent;  // in file order: data deps, then ctrl deps
    SharedVector<std::uint32_t> child_begin, child;    // in file order of the child
    SharedVector<std::uint32_t> file_order;            // nodes by first appearance in the file

    IntColumn is_cpu_op, comm_type, comm_size, comm_priority, comm_src, comm_dst, comm_tag;
    IntColumn num_ops, tensor_size, duration_ns;
    IntColumn msg_chunk_cnt, total_chunk_cnt;  // of a collective given without sizes
    IntColumn communication;  // 1 where a computation is marked as communication (communicates.hpp)

    SharedVector<std::int32_t> pg_name;  // index into pg_names, group_absent or group_other; never empty
    Vector<std::string> pg_names;

    // comm_peer of a template's send or receive, as pg_name; empty when no node has it.
    SharedVector<std::int32_t> comm_peer;
    Vector<std::string> peer_names;

    // involved_dim as bits, dimension 0 lowest; length 0 = absent. Empty when no node has it.
    SharedVector<std::uint64_t> involved_mask;
    SharedVector<std::uint8_t> involved_len;  // or involved_other: another type, no or over 64 entries

    // What models of compute ask for; empty unless the graph was built with kernels.
    SharedVector<std::int32_t> op_class, dtype, phase;  // as comm_peer, into the names below
    Vector<std::string> op_classes, dtypes, phases;
    std::array<IntColumn, kernel_sizes.size()> kernel_size;  // in the order of the names

    TensorColumn inputs, outputs;  // the attributes of that name, not the IOInfo fields
    Vector<std::string> tensor_names;

    SharedVector<std::uint32_t> name_at;  // where the name is in name_bytes, behind its length in 4 bytes
    Shared<std::string> name_bytes;       // a name that comes again and again is there a few times only

    Vector<Diagnostic> diagnostics;

    bool has_errors() const;
};

// Resolves ids. A duplicate id is one node: the last record's body, the dependencies of all its records
// united, the place of the first. `merge_duplicates` says whether that is wanted: a warning, else an error.
// With `kernels` the attributes that tell kernels apart are lifted.
// Throws TraceFault when the trace has 2^32 - 1 or more nodes or dependencies.
Graph build_graph(const Trace& trace, bool merge_duplicates, bool kernels = false);

// Whether the metadata of a trace say that its dependencies hold every order.
bool says_complete_order(const Trace& trace);

}  // namespace yantra
