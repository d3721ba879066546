// ChunkLine: the chunks of one queue: a vector with free space in front; removal moves the shorter
// side. Trade-off: up to twice the memory.
#pragma once

#include <algorithm>
#include <vector>

#include "base/ids.hpp"

namespace yantra {

class ChunkLine {
public:
    using Place = std::vector<ChunkId>::iterator;

    Place begin() { return ids_.begin() + first_; }
    Place end() { return ids_.end(); }
    std::size_t size() const { return ids_.size() - static_cast<std::size_t>(first_); }
    bool empty() const { return size() == 0; }
    ChunkId operator[](std::size_t at) const { return ids_[static_cast<std::size_t>(first_) + at]; }
    ChunkId back() const { return ids_.back(); }

    void insert(std::size_t at, ChunkId id) {
        if (at == size()) {
            ids_.push_back(id);
            return;
        }
        const Place place = begin() + static_cast<std::ptrdiff_t>(at);
        if (first_ > 0 && 2 * at < size()) {
            std::move(begin(), place, begin() - 1);
            --first_;
            *(place - 1) = id;
        } else {
            ids_.insert(place, id);
        }
    }

    // Precondition: it is there, usually first.
    void erase(ChunkId id) {
        if (*begin() == id) [[likely]] {
            ++first_;
        } else {
            erase_further(std::find(begin(), end(), id));
        }
        if (first_ == static_cast<std::ptrdiff_t>(ids_.size())) {
            ids_.clear();
            first_ = 0;
        } else if (first_ >= few && 2 * static_cast<std::size_t>(first_) >= ids_.size()) {
            close_up();
        }
    }

private:
    static constexpr std::ptrdiff_t few = 32;

    [[gnu::noinline]] void erase_further(Place place) {
        if (place - begin() < end() - place) {
            std::move_backward(begin(), place, place + 1);
            ++first_;
        } else {
            ids_.erase(place);
        }
    }
    [[gnu::noinline]] void close_up() {
        ids_.erase(ids_.begin(), begin());
        first_ = 0;
    }

    std::vector<ChunkId> ids_;
    std::ptrdiff_t first_ = 0;   // before it there is none
};

}  // namespace yantra
