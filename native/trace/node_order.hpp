// Which records make up which node, nodes by ascending id. Upstream allows several records of one
// id; the reader decides what they mean.
#pragma once

#include <cstdint>
#include <span>

#include "base/vector.hpp"
#include "trace/trace.hpp"

namespace yantra {

// Records of one node are adjacent in `records`, in file order.
struct NodeOrder {
    Vector<std::uint32_t> records;
    Vector<std::uint32_t> record_begin;  // n + 1
    Vector<std::uint32_t> node_of_record;

    std::uint32_t nodes() const { return static_cast<std::uint32_t>(record_begin.size() - 1); }
    std::span<const std::uint32_t> records_of(std::uint32_t node) const {
        return std::span(records).subspan(record_begin[node],
                                          record_begin[node + 1] - record_begin[node]);
    }
    std::uint32_t first(std::uint32_t node) const { return records[record_begin[node]]; }
    std::uint32_t last(std::uint32_t node) const { return records[record_begin[node + 1] - 1]; }
};

NodeOrder order_nodes(const Trace& trace);

}  // namespace yantra
