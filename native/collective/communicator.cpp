#include "collective/communicator.hpp"

#include <algorithm>
#include <vector>

namespace yantra {

namespace {

u32 find(const std::vector<u32>& ascending, u32 offset) {
    const auto found = std::lower_bound(ascending.begin(), ascending.end(), offset);
    const bool is_there = found != ascending.end() && *found == offset;
    return is_there ? static_cast<u32>(found - ascending.begin()) : none;
}

}  // namespace

Shape::Shape(std::vector<u32> offsets)
    : size_(static_cast<u32>(offsets.size())), offsets_(std::move(offsets)) {
    const u32 step = size_ > 1 ? offsets_[1] - offsets_[0] : 1;
    bool is_even = step != 0 && offsets_.front() == 0;
    for (u32 at = 1; at < size_; ++at) {
        is_even = is_even && offsets_[at] > offsets_[at - 1] && offsets_[at] - offsets_[at - 1] == step;
    }
    if (is_even) {
        stride_ = step;
        offsets_ = {};
    } else if (!std::is_sorted(offsets_.begin(), offsets_.end())) {
        for (u32 at = 0; at < size_; ++at) {
            sorted_.emplace_back(offsets_[at], at);
        }
        std::sort(sorted_.begin(), sorted_.end());
    }
}

u32 Shape::position(u32 offset) const {
    const u32 at = place(offset);
    return at == none || ascends() ? at : sorted_[at].second;
}

u32 Shape::place(u32 offset) const {
    if (stride_ != 0) {
        const u32 at = offset / stride_;
        return at < size_ && at * stride_ == offset ? at : none;
    }
    if (ascends()) {
        return find(offsets_, offset);
    }
    const auto found = std::lower_bound(sorted_.begin(), sorted_.end(), std::pair<u32, u32>{offset, 0});
    const bool is_there = found != sorted_.end() && found->first == offset;
    return is_there ? static_cast<u32>(found - sorted_.begin()) : none;
}

}  // namespace yantra
