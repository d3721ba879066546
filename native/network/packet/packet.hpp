// A packet, and the queue of packets that it waits in, a list through the packets. A data packet
// becomes its own acknowledgement.
#pragma once

#include <algorithm>
#include <array>

#include "base/pool.hpp"
#include "base/types.hpp"
#include "network/packet/ids.hpp"

namespace yantra::packet {

inline constexpr u32 most_priorities = 8;

// `open` asks for a connection, `opened` is the answer.
enum class PacketKind : u8 { data, ack, nack, open, opened, credit, pause, resume };

// Ended by none at its end, else by not_read.
using LinksAhead = std::array<LinkId, 3>;
inline constexpr LinkId not_read(none - 1);

// One cache line, with the next links in it.
struct alignas(64) Packet {
    PacketId next;        // in its queue
    u32 route = 0;        // into the hops of routes: after those already read; steered, its target
    LinkId link;          // that it crosses, or came over
    u32 bytes = 0;        // with headers
    SenderId sender;
    u32 serial = 0;       // of the sender, as senders' places are reused
    u32 payload = 0;      // of an ACK: how far the answered packet begins beyond `sequence`, none: before it; with
                          // `ack_every`, bytes received beyond it
    PacketKind kind = PacketKind::data;
    bool is_marked : 1 = false;   // of an ACK: that its data was
    u8 priority : 3 = 0;      // class of its message; 0 goes first if a queue discipline uses it
    bool is_all_ahead : 1 = false;   // its route ends with `ahead`
    bool is_trimmed : 1 = false;     // its payload was cut
    bool asks : 1 = false;           // for an ACK at once
    bool is_steered : 1 = false;     // it chooses at each device (network/packet/steering.hpp)
    u16 hops = 0;         // with telemetry
    u64 sequence = 0;     // of its first byte; of an ACK, the next byte expected
    u64 stamp = 0;        // tick at which its data was sent, or what schemes write; of a credit, bytes granted in all
    LinksAhead ahead;
    u16 failures = 0;     // of the link that it crosses, when it began to
    u16 order = 0;        // of its message: which of two that come in one tick goes first
};
static_assert(sizeof(Packet) == 64, "a packet is a line of the cache");

// Of what comes over or leaves by a link in one tick, the least goes first: so that messages of one
// order stay abreast.
inline constexpr u32 link_bits = 24;
inline constexpr u64 most_links = (u64{1} << link_bits) - 1;
constexpr u64 place_in_tick(u16 order, u64 sequence, LinkId link) {
    return u64{order} << 48U | std::min(sequence >> 10U, most_links) << link_bits | (link.index() & most_links);
}

using PacketPool = IdPool<PacketId, Packet>;

struct PacketQueue {
    PacketId first;
    PacketId last;

    bool empty() const { return first.is_none(); }
    void push(PacketPool& packets, PacketId packet) {
        packets[packet].next = PacketId::none;
        if (first.is_none()) {
            first = packet;
        } else {
            packets[last].next = packet;
        }
        last = packet;
    }
    PacketId pop(PacketPool& packets) {
        const PacketId packet = first;
        first = packets[packet].next;
        return packet;
    }
};

struct Telemetry {
    u64 tick = 0;
    u64 sent_bytes = 0;   // by the port, before this packet
    u32 queue_bytes = 0;
    LinkId link;
};

}  // namespace yantra::packet
