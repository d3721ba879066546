// Pool: objects addressed by a 32-bit index, freed indices used again.
//
// Trade-off: an index costs a base-pointer load that a pointer does not, but it is half as wide,
// survives growth, and cannot dangle into unmapped memory.
#pragma once

#include <vector>

#include "base/types.hpp"

namespace yantra {

template <class T>
class Pool {
public:
    u32 take() {
        if (free_.empty()) {
            items_.emplace_back();
            return static_cast<u32>(items_.size() - 1);
        }
        const u32 index = free_.back();
        free_.pop_back();
        items_[index] = T{};
        return index;
    }

    void give_back(u32 index) { free_.push_back(index); }

    T& operator[](u32 index) { return items_[index]; }
    const T& operator[](u32 index) const { return items_[index]; }

    std::size_t in_use() const { return items_.size() - free_.size(); }

private:
    std::vector<T> items_;
    std::vector<u32> free_;
};

}  // namespace yantra
