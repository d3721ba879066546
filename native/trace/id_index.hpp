// IdIndex: from a node id to its index among ascending ids.
//
// Trade-off: a table over the range of ids when that costs at most `spread` words a node (ids of traces
// are nearly dense), else binary search, which needs nothing.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

namespace yantra {

class IdIndex {
public:
    static constexpr std::uint32_t absent = 0xffffffffU;

    // `ids` ascending and distinct; must outlive the index.
    explicit IdIndex(std::span<const std::uint64_t> ids) : ids_(ids) {
        if (ids.empty() || (ids.back() - ids.front()) / spread > ids.size()) {
            return;
        }
        table_.assign(ids.back() - ids.front() + 1, absent);
        for (std::uint32_t i = 0; i < ids.size(); ++i) {
            table_[ids[i] - ids.front()] = i;
        }
    }

    std::uint32_t find(std::uint64_t id) const {
        if (!table_.empty()) {
            const std::uint64_t at = id - ids_.front();  // wraps for smaller ids: out of the table
            return at < table_.size() ? table_[at] : absent;
        }
        const auto found = std::lower_bound(ids_.begin(), ids_.end(), id);
        return found != ids_.end() && *found == id
                   ? static_cast<std::uint32_t>(found - ids_.begin())
                   : absent;
    }

private:
    static constexpr std::uint64_t spread = 16;

    std::span<const std::uint64_t> ids_;
    std::vector<std::uint32_t> table_;
};

}  // namespace yantra
