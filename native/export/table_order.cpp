#include "export/table_order.hpp"

#include <algorithm>
#include <numeric>
#include <unordered_map>

namespace yantra {

std::vector<u32> hash_map_order(const std::vector<std::string>& names) {
    std::unordered_map<std::string, u32> table;
    for (u32 place = 0; place < names.size(); ++place) {
        table.emplace(names[place], place);
    }
    std::vector<u32> order;
    for (const auto& [name, place] : table) {
        order.push_back(place);
    }
    return order;
}

std::vector<u32> longest_first(const std::vector<u64>& lifetimes) {
    std::vector<u32> order(lifetimes.size());
    std::iota(order.begin(), order.end(), 0U);
    std::sort(order.begin(), order.end(), [&](u32 a, u32 b) { return lifetimes[a] > lifetimes[b]; });
    return order;
}

}  // namespace yantra
