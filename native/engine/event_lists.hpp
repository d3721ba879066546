// EventLists: memory for index lists, in reused blocks of powers of two. A block's size precedes
// its first index.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <memory>
#include <vector>

#include "base/poison.hpp"
#include "base/types.hpp"

namespace yantra {

class EventLists {
public:
    // Precondition: at least one.
    u32* take(u32 most) {
        const auto size = static_cast<u32>(std::bit_width(most - 1));
        std::vector<u32*>& free = free_[size];
        if (!free.empty()) [[likely]] {
            u32* const block = free.back();
            free.pop_back();
            Poison::lift(block, std::size_t{1} << size);
            return block;
        }
        blocks_.push_back(std::make_unique_for_overwrite<u32[]>((std::size_t{1} << size) + 1));
        blocks_.back()[0] = size;
        return blocks_.back().get() + 1;
    }
    u32* with_room(const u32* list, u32 count, u32 more) {
        if (count + more <= u32{1} << list[-1]) [[likely]] {
            return writable(list);
        }
        u32* const larger = take(count + more);
        std::copy_n(list, count, larger);
        give_back(list);
        return larger;
    }
    void give_back(const u32* list) {
        Poison::put(writable(list), std::size_t{1} << list[-1]);
        free_[list[-1]].push_back(writable(list));
    }

private:
    static u32* writable(const u32* list) { return const_cast<u32*>(list); }

    std::array<std::vector<u32*>, 33> free_;   // by size
    std::vector<std::unique_ptr<u32[]>> blocks_;
};

}  // namespace yantra
