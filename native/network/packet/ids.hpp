// Ids of a packet simulation.
#pragma once

#include "base/ids.hpp"
#include "base/pool.hpp"

namespace yantra::packet {

using LinkId = Id<struct LinkTag>;
using PortId = LinkId;   // a port is known by the link that it feeds
using PacketId = Id<struct PacketTag>;
using SenderId = Id<struct SenderTag>;

// A pool that only its own kind of id indexes.
template <class IdType, class T, Freed freed = Freed::unreadable>
class IdPool {
public:
    T& operator[](IdType id) { return items_[id.index()]; }
    const T& operator[](IdType id) const { return items_[id.index()]; }
    IdType take() { return IdType(items_.take()); }
    IdType take_as_left() { return IdType(items_.take_as_left()); }
    void give_back(IdType id) { items_.give_back(id.index()); }

private:
    Pool<T, freed> items_;
};

}  // namespace yantra::packet
