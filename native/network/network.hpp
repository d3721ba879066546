// NetworkModel: takes messages, and later reports each one's arrival.
//
// A model schedules `event::arrival` for the message on the engine's queue when its last byte
// reaches the destination and, where departures are asked for, `event::departed` when it left the
// source; it may schedule `event::network_*` for itself. It knows nothing of collectives. The
// implementations are the fidelity ladder.
#pragma once

#include <vector>

#include "base/types.hpp"

namespace yantra {

namespace event {
enum Kind : u32 {
    local_batch,      // index: batch of a rank's local events
    arrival,          // index: message
    departed,         // index: message; its last byte left the source
    receive_ready,    // index: message whose receive was posted after it arrived
    network_first,    // index: the model's own
    network_second,
};
}

// What one link, or one dimension where links do not interact, carried.
struct LinkUse {
    u64 bytes = 0;
    u64 messages = 0;
    u64 busy_ticks = 0;
};

class NetworkModel {
public:
    NetworkModel() = default;
    NetworkModel(const NetworkModel&) = delete;
    NetworkModel& operator=(const NetworkModel&) = delete;
    virtual ~NetworkModel() = default;

    virtual void send(u32 message, u32 src, u32 dst, u64 bytes) = 0;
    virtual void on_event(u32 kind, u32 index) = 0;

    // Use of every link that carried something, by dimension; see `LinkRecord`.
    struct LinkRecord {
        u32 dimension;
        u32 from;   // rank, or none for a switch port towards `to`
        u32 to;     // rank, or none for a switch port from `from`
        LinkUse use;
    };
    virtual std::vector<LinkRecord> links() const = 0;

    // Bytes times hops offered to each dimension.
    virtual std::vector<LinkUse> dimensions() const = 0;
};

}  // namespace yantra
