// UnorderedOrder: a set of 64-bit keys walked in the order of libstdc++'s unordered_set, in which
// upstream starts ready nodes (astra-sim-semantics 9.1).
#pragma once

#include <vector>

#include "base/types.hpp"

namespace yantra {

class UnorderedOrder {
public:
    // False if present.
    bool insert(u64 key);
    bool erase(u64 key);
    bool contains(u64 key) const;
    std::size_t size() const { return size_; }
    std::vector<u64> keys() const;

    std::vector<u32> places() const;

    // Changes no order.
    void reserve_items(std::size_t items) { items_.reserve(items); }

private:
    struct Item {
        u64 key;
        u32 next;
    };

    u32 find(u64 key) const;
    void link(u32 item);
    void rehash(u64 buckets);
    u64 bucket(u64 key) const { return key < buckets_ ? key : key % buckets_; }

    u64 buckets_ = 1;
    u64 growth_threshold_ = 0;
    u64 size_ = 0;
    u32 first_ = none;
    std::vector<Item> items_;
    std::vector<u32> free_;
    std::vector<u32> before_;  // by bucket: item before the bucket's first; none: bucket empty; head: list start
};

}  // namespace yantra
