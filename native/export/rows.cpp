#include "export/rows.hpp"

#include <algorithm>
#include <functional>
#include <numeric>
#include <queue>
#include <tuple>
#include <utility>
#include <vector>

#include "base/ensure.hpp"

namespace yantra {

namespace {

template <typename Item>
using Smallest = std::priority_queue<Item, std::vector<Item>, std::greater<>>;

class Lanes {
public:
    u64 place(u64 start, u64 end) {
        while (!busy_.empty() && busy_.top().first <= start) {
            free_.push(busy_.top().second);
            busy_.pop();
        }
        u64 row = rows_;
        if (free_.empty()) {
            ++rows_;
        } else {
            row = free_.top();
            free_.pop();
        }
        busy_.emplace(end, row);
        return row;
    }

private:
    Smallest<std::pair<u64, u64>> busy_;   // end, row
    Smallest<u64> free_;
    u64 rows_ = 0;
};

}  // namespace

Rows rows_of(std::span<const u64> track, std::span<const u64> start, std::span<const u64> end) {
    ensure(track.size() == start.size() && track.size() == end.size(), "rows: columns differ in length");
    Rows rows;
    rows.order.resize(track.size());
    rows.row.resize(track.size());
    std::iota(rows.order.begin(), rows.order.end(), u64{0});
    std::stable_sort(rows.order.begin(), rows.order.end(), [&](u64 a, u64 b) {
        return std::tuple(track[a], start[a], end[a]) < std::tuple(track[b], start[b], end[b]);
    });
    Lanes lanes;
    for (std::size_t i = 0; i < rows.order.size(); ++i) {
        const u64 slice = rows.order[i];
        if (i > 0 && track[rows.order[i - 1]] != track[slice]) {
            lanes = {};
        }
        rows.row[slice] = lanes.place(start[slice], end[slice]);
    }
    return rows;
}

}  // namespace yantra
