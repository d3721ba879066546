// How many records a usual file has (trace/usual.hpp), and how they and their labels come into order.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "trace/graph_parts.hpp"
#include "trace/id_index.hpp"
#include "trace/usual.hpp"

namespace yantra {

inline std::size_t about_all(std::size_t nodes, std::size_t read, std::size_t bytes) {
    const double all = 1.01 * static_cast<double>(nodes) * static_cast<double>(bytes) / static_cast<double>(read);
    return std::min(static_cast<std::size_t>(all) + 1, max_count);
}

// Into room.record, through a table if ids are nearly dense; false where one recurs.
inline bool order_records(const std::vector<std::uint64_t>& id, const std::vector<std::uint32_t>& file_order,
                          UsualRoom& room) {
    const auto [least, most] = std::minmax_element(id.begin(), id.end());
    const std::uint64_t lowest = *least;
    if (!IdIndex::is_dense(lowest, *most, id.size())) {
        room.record = file_order;
        std::sort(room.record.begin(), room.record.end(),
                  [&id](std::uint32_t a, std::uint32_t b) { return id[a] < id[b]; });
        return true;
    }
    room.table.assign(*most - lowest + 1, IdIndex::absent);
    for (std::uint32_t record = 0; record < id.size(); ++record) {
        std::uint32_t& at = room.table[id[record] - lowest];
        if (at != IdIndex::absent) {
            return false;
        }
        at = record;
    }
    room.record.clear();
    std::ranges::copy_if(room.table, std::back_inserter(room.record),
                         [](std::uint32_t record) { return record != IdIndex::absent; });
    return true;
}

// From file order to first use by nodes.
inline std::vector<std::string> in_order(SharedVector<std::int32_t>& column, std::vector<std::string> labels,
                                         bool is_sorted) {
    if (is_sorted) {
        return labels;
    }
    std::vector<std::int32_t> number(labels.size(), Graph::group_absent);
    std::vector<std::string> ordered;
    for (std::int32_t& at : column.own()) {
        if (at >= 0) {
            std::int32_t& known = number[static_cast<std::size_t>(at)];
            if (known < 0) {
                known = static_cast<std::int32_t>(ordered.size());
                ordered.push_back(std::move(labels[static_cast<std::size_t>(at)]));
            }
            at = known;
        }
    }
    return ordered;
}

}  // namespace yantra
