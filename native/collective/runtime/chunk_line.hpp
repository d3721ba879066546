// ChunkLine: the chunks of one queue, from which those leave that came first.
//
// A vector with room at its front: to leave moves the shorter side, mostly the few that run, and not the
// million that wait. Trade-off: it keeps up to as much room as it has chunks.
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
        const Place place = begin() + static_cast<std::ptrdiff_t>(at);
        if (first_ > 0 && 2 * at < size()) {
            std::move(begin(), place, begin() - 1);
            --first_;
            *(place - 1) = id;
        } else {
            ids_.insert(place, id);
        }
    }

    void erase(Place place) {
        if (place - begin() < end() - place) {
            std::move_backward(begin(), place, place + 1);
            ++first_;
        } else {
            ids_.erase(place);
        }
        if (2 * static_cast<std::size_t>(first_) >= ids_.size()) {
            ids_.erase(ids_.begin(), begin());
            first_ = 0;
        }
    }

private:
    std::vector<ChunkId> ids_;
    std::ptrdiff_t first_ = 0;   // before it there is none
};

}  // namespace yantra
