// IdPool: a pool that only its own kind of id indexes.
#pragma once

#include "base/ids.hpp"
#include "base/pool.hpp"

namespace yantra {

template <class IdType, class T, Freed freed = Freed::unreadable>
class IdPool {
public:
    T& operator[](IdType id) { return items_[id.index()]; }
    const T& operator[](IdType id) const { return items_[id.index()]; }
    IdType take(const T& item = T{}) { return IdType(items_.take(item)); }
    IdType take_as_left() { return IdType(items_.take_as_left()); }
    void give_back(IdType id) { items_.give_back(id.index()); }
    // Where the first is. It does not move until there are more.
    T* reserve(u32 objects) {
        items_.reserve(objects);
        return items_.data();
    }
    std::size_t taken() const { return items_.taken(); }
    // Ids below it were taken at some time.
    IdType next() const { return IdType(items_.made()); }

private:
    Pool<T, freed> items_;
};

}  // namespace yantra
