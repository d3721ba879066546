// Packet, and its flits, which name it.
#pragma once

#include "base/id_pool.hpp"

namespace yantra::noc {

using PacketId = Id<struct PacketTag>;

struct Packet {
    u64 created = 0;       // cycle in which its source had it
    u64 injected = 0;      // and in which its head left
    u32 source = 0;        // nodes
    u32 destination = 0;
    u32 flits = 0;
    u32 flits_left = 0;    // that have not arrived
    u32 tag = 0;           // the sender's own
    u32 routers = 0;       // that its head has crossed
    u8 half = 0;           // of the VCs of a ring (network/noc/routing.hpp)
};

using PacketPool = IdPool<PacketId, Packet>;

class Flit {
public:
    Flit() = default;
    Flit(PacketId packet, bool is_head, bool is_tail)
        : bits_(packet.index() << 2U | (is_head ? 2u : 0u) | (is_tail ? 1u : 0u)) {}

    PacketId packet() const { return PacketId(bits_ >> 2U); }
    bool is_head() const { return (bits_ & 2U) != 0; }
    bool is_tail() const { return (bits_ & 1U) != 0; }

private:
    u32 bits_ = 0;
};

}  // namespace yantra::noc
