// Which records make up which node, by ascending id; upstream allows several of one id.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "trace/trace.hpp"

namespace yantra {

// Adjacent in `records`, in file order.
struct NodeOrder {
    std::vector<std::uint32_t> records;
    std::vector<std::uint32_t> record_begin;  // n + 1
    std::vector<std::uint32_t> node_of_record;

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
