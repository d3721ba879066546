#include "collective/unordered_order.hpp"

#include <algorithm>
#include <array>
#include <vector>

#include "base/ensure.hpp"

namespace yantra {

namespace {

constexpr u32 list_start = none - 1;

constexpr std::array<u64, 24> bucket_counts = {
    13,     29,     59,      127,     257,     541,      1109,     2357,     5087,      10273,     20753,     42043,
    85229,  172933, 351061,  712697,  1447153, 2938679,  5967347,  12117689, 24607243,  49969847,  101473717, 206062531};

u64 smallest_count_from(u64 wanted) {
    for (u64 count : bucket_counts) {
        if (count >= wanted) {
            return count;
        }
    }
    ensure(false, "a custom collective with more ready nodes than the order is known for");
    return 0;
}

}  // namespace

u32 UnorderedOrder::find(u64 key) const {
    if (before_.empty()) {
        return none;
    }
    const u64 b = bucket(key);
    u32 item = before_[b];
    if (item == none) {
        return none;
    }
    item = item == list_start ? first_ : items_[item].next;
    while (item != none && bucket(items_[item].key) == b) {
        if (items_[item].key == key) {
            return item;
        }
        item = items_[item].next;
    }
    return none;
}

bool UnorderedOrder::contains(u64 key) const { return find(key) != none; }

void UnorderedOrder::link(u32 item) {
    const u64 b = bucket(items_[item].key);
    if (before_[b] == none) {
        items_[item].next = first_;
        if (first_ != none) {
            before_[bucket(items_[first_].key)] = item;
        }
        first_ = item;
        before_[b] = list_start;
    } else if (before_[b] == list_start) {
        items_[item].next = first_;
        first_ = item;
    } else {
        items_[item].next = items_[before_[b]].next;
        items_[before_[b]].next = item;
    }
}

void UnorderedOrder::rehash(u64 buckets) {
    std::vector<u32> order;
    for (u32 item = first_; item != none; item = items_[item].next) {
        order.push_back(item);
    }
    buckets_ = buckets;
    before_.assign(buckets, none);
    first_ = none;
    for (u32 item : order) {
        link(item);
    }
}

bool UnorderedOrder::insert(u64 key) {
    if (find(key) != none) {
        return false;
    }
    if (size_ + 1 > growth_threshold_) {
        const u64 least = std::max(size_ + 1, growth_threshold_ == 0 ? u64{11} : u64{0});
        if (least >= buckets_) {
            rehash(smallest_count_from(std::max(least + 1, 2 * buckets_)));
        }
        growth_threshold_ = buckets_;
    }
    u32 item;
    if (free_.empty()) {
        item = static_cast<u32>(items_.size());
        items_.push_back({key, none});
    } else {
        item = free_.back();
        free_.pop_back();
        items_[item] = {key, none};
    }
    link(item);
    ++size_;
    return true;
}

bool UnorderedOrder::erase(u64 key) {
    const u32 item = find(key);
    if (item == none) {
        return false;
    }
    const u64 b = bucket(key);
    u32 previous = before_[b];
    u32 at = previous == list_start ? first_ : items_[previous].next;
    while (at != item) {
        previous = at;
        at = items_[at].next;
    }
    const u32 next = items_[item].next;
    const bool was_first_of_bucket = previous == before_[b];
    const bool next_is_elsewhere = next == none || bucket(items_[next].key) != b;
    if (previous == list_start) {
        first_ = next;
    } else {
        items_[previous].next = next;
    }
    if (next_is_elsewhere) {
        if (next != none) {
            before_[bucket(items_[next].key)] = previous;
        }
        if (was_first_of_bucket) {
            before_[b] = none;
        }
    }
    free_.push_back(item);
    --size_;
    return true;
}

std::vector<u64> UnorderedOrder::keys() const {
    std::vector<u64> order;
    order.reserve(size_);
    for (u32 item = first_; item != none; item = items_[item].next) {
        order.push_back(items_[item].key);
    }
    return order;
}

std::vector<u32> UnorderedOrder::places() const {
    ensure(free_.empty(), "places of a set from which keys were erased");
    std::vector<u32> order;
    order.reserve(size_);
    for (u32 item = first_; item != none; item = items_[item].next) {
        order.push_back(item);
    }
    return order;
}

}  // namespace yantra
