// What the simulator is given to send, and who observes it.
#pragma once

#include "base/types.hpp"

namespace yantra::packet {

class Observer {
public:
    // The receiver has all bytes.
    virtual void received(u32 flow) = 0;
    // The sender has the last ACK.
    virtual void completed(u32 flow) = 0;
    // Only with `tells_crossings`.
    virtual void crosses(u32 /*flow*/, u32 /*link*/, u64 /*start*/, u64 /*end*/, u32 /*payload*/) {}

protected:
    ~Observer() = default;
};

struct FlowSpec {
    u32 flow = none;       // the caller's number
    u64 bytes = 0;
    u32 data_route = 0;
    u32 ack_route = 0;
    u32 first_way = 0;     // of add_ways(), if its packets are sprayed; ACKs take one way
    u32 ways = 0;
    u32 source = none;     // the caller's numbers of its ends
    u32 destination = none;
    u32 seen = none;       // its row in Seen, which send() sets
    u16 order = 0;         // the least goes first of those that come to a queue in one tick; then that of fewer bytes sent
    u32 target = none;     // of Steering::target(), if its packets choose at each device
    u32 serial = 0;        // its sender's; 0: as many as began before, and one
};

// But for names, of flows over one way.
inline bool are_alike(const FlowSpec& one, const FlowSpec& other) {
    return one.data_route == other.data_route && one.ack_route == other.ack_route && one.bytes == other.bytes &&
           one.order == other.order;
}

}  // namespace yantra::packet
