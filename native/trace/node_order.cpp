#include "trace/node_order.hpp"

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

namespace yantra {

NodeOrder order_nodes(const Trace& trace) {
    NodeOrder order;
    const std::vector<std::uint64_t>& id = trace.id;
    order.records.resize(id.size());
    std::iota(order.records.begin(), order.records.end(), 0U);
    const auto by_id = [&](std::uint32_t a, std::uint32_t b) {
        return std::pair(id[a], a) < std::pair(id[b], b);
    };
    if (!std::is_sorted(id.begin(), id.end())) {
        std::sort(order.records.begin(), order.records.end(), by_id);
    }
    order.node_of_record.resize(id.size());
    order.record_begin.reserve(id.size() + 1);
    for (std::uint32_t i = 0; i < id.size(); ++i) {
        const std::uint32_t record = order.records[i];
        if (i == 0 || id[record] != id[order.records[i - 1]]) {
            order.record_begin.push_back(i);
        }
        order.node_of_record[record] = static_cast<std::uint32_t>(order.record_begin.size() - 1);
    }
    order.record_begin.push_back(static_cast<std::uint32_t>(id.size()));
    return order;
}

}  // namespace yantra
