// UnorderedOrder: a set of 64-bit keys that is walked in the order libstdc++'s unordered_set walks it.
//
// Upstream starts the ready nodes of a custom collective in that order, and on a congested network
// the order decides the result, so it is part of the format. The rule (astra-sim-semantics 9.1) is
// spelled out here rather than borrowed from std::unordered_set, so that results do not depend on the
// C++ library the core is built with.
#pragma once

#include "base/types.hpp"
#include "base/vector.hpp"

namespace yantra {

class UnorderedOrder {
public:
    // False if the key was there.
    bool insert(u64 key);
    bool erase(u64 key);
    bool contains(u64 key) const;
    std::size_t size() const { return size_; }
    Vector<u64> keys() const;

    // Of a set from which nothing was erased: how many keys came before each, in the order of keys().
    Vector<u32> places() const;

    // Makes room for so many keys, which changes no order.
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
    Vector<Item> items_;
    Vector<u32> free_;
    Vector<u32> before_;  // by bucket: item before the bucket's first; none: bucket empty; head: list start
};

}  // namespace yantra
