// IndexedHeap: a binary heap of small numbers by key; any key can change.
#pragma once

#include <utility>
#include <vector>

#include "base/types.hpp"

namespace yantra {

class IndexedHeap {
public:
    explicit IndexedHeap(u32 count) : place_(count, none), key_(count) {}

    bool empty() const { return heap_.empty(); }
    bool has(u32 number) const { return place_[number] != none; }
    double key(u32 number) const { return key_[number]; }
    u32 top() const { return heap_.front(); }

    void set(u32 number, double key) {
        if (place_[number] == none) {
            place_[number] = static_cast<u32>(heap_.size());
            heap_.push_back(number);
            key_[number] = key;
            rise(place_[number]);
            return;
        }
        const double before = std::exchange(key_[number], key);
        if (key < before) {
            rise(place_[number]);
        } else {
            sink(place_[number]);
        }
    }

    // Does nothing if it is absent.
    void remove(u32 number) {
        const u32 place = std::exchange(place_[number], none);
        if (place == none) {
            return;
        }
        const u32 last = heap_.back();
        heap_.pop_back();
        if (last != number) {
            heap_[place] = last;
            place_[last] = place;
            rise(place);
            sink(place_[last]);
        }
    }

private:
    void put(u32 place, u32 number) {
        heap_[place] = number;
        place_[number] = place;
    }
    void rise(u32 place) {
        const u32 number = heap_[place];
        for (; place > 0; place = (place - 1) / 2) {
            const u32 above = heap_[(place - 1) / 2];
            if (!(key_[number] < key_[above])) {
                break;
            }
            put(place, above);
        }
        put(place, number);
    }
    void sink(u32 place) {
        const u32 number = heap_[place];
        for (u32 below = 2 * place + 1; below < heap_.size(); below = 2 * place + 1) {
            if (below + 1 < heap_.size() && key_[heap_[below + 1]] < key_[heap_[below]]) {
                ++below;
            }
            if (!(key_[heap_[below]] < key_[number])) {
                break;
            }
            put(place, heap_[below]);
            place = below;
        }
        put(place, number);
    }

    std::vector<u32> heap_;
    std::vector<u32> place_;   // by number; none: absent
    std::vector<double> key_;
};

}  // namespace yantra
