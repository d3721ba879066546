// IdIndex: from a node id to its index, by a table of at most `spread` words a node, else binary
// search.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

namespace yantra {

class IdIndex {
public:
    static constexpr std::uint32_t absent = 0xffffffffU;

    static bool is_dense(std::uint64_t lowest, std::uint64_t highest, std::size_t count) {
        return (highest - lowest) / spread <= count;
    }

    // `ids` ascending and distinct; they and `room` must outlive this.
    IdIndex(std::span<const std::uint64_t> ids, std::vector<std::uint32_t>& room) : ids_(ids) {
        if (ids.empty() || !is_dense(ids.front(), ids.back(), ids.size())) {
            return;
        }
        room.assign(ids.back() - ids.front() + 1, absent);
        for (std::uint32_t i = 0; i < ids.size(); ++i) {
            room[ids[i] - ids.front()] = i;
        }
        table_ = room;
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
    std::span<const std::uint32_t> table_;
};

}  // namespace yantra
