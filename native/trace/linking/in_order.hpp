// Rows in the order that a rule gives them, applied to each of their columns.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

namespace yantra::linking {

// Where rows come from; empty if they are in order already. `before` decides for all pairs.
template <class Before>
std::vector<std::uint32_t> order_of(std::size_t rows, Before before) {
    bool is_sorted = true;
    for (std::uint32_t row = 1; is_sorted && row < rows; ++row) {
        is_sorted = !before(row, row - 1);
    }
    if (is_sorted) {
        return {};
    }
    std::vector<std::uint32_t> order(rows);
    std::iota(order.begin(), order.end(), 0U);
    std::sort(order.begin(), order.end(), before);
    return order;
}

template <class... Value>
void rearrange(const std::vector<std::uint32_t>& order, std::vector<Value>&... columns) {
    const auto one = [&order](auto& column) {
        if (column.empty()) {
            return;
        }
        auto moved = column;
        for (std::size_t row = 0; row < order.size(); ++row) {
            moved[row] = column[order[row]];
        }
        column = std::move(moved);
    };
    if (!order.empty()) {
        (one(columns), ...);
    }
}

}  // namespace yantra::linking
