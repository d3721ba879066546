// NetworkModel: takes messages, and later reports each one's arrival.
//
// Whoever sends names the events it wants: one when the last byte reaches the destination and, if
// asked for, one when it has left the source. A model schedules them on the engine's queue, and may
// schedule `event::network_*` for itself. It knows nothing of collectives. The implementations are
// the fidelity ladder.
#pragma once

#include <optional>
#include <vector>

#include "base/types.hpp"

namespace yantra {

namespace event {
enum Kind : u32 {
    local_batch,       // index: batch of a rank's local events
    arrival,           // index: message
    departed,          // index: message
    receive_ready,     // index: message whose receive was posted after it arrived
    exchange_arrival,  // index: stream; the upper bits say for which phase and from whom
    exchange_early,    // index: arrival at a stream that did not exist when it was sent
    exchange_ready,    // index: stream whose receive was posted after the message arrived
    network_first,     // index: the model's own
    network_second,
};
inline constexpr u32 kind_bits = 4;  // the rest of an event's kind is its sender's
}  // namespace event

// An event to schedule. `kind` none: no event.
struct Notice {
    u32 kind = none;
    u32 index = none;
};

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

    virtual void send(u32 src, u32 dst, u64 bytes, Notice arrived, Notice departed) = 0;
    virtual void on_event(u32 kind, u32 index) = 0;

    // The ticks of a message that no other can delay, and in `use`, by dimension, `times` of it. None
    // where messages may wait for each other.
    virtual std::optional<u64> alone(u32, u32, u64, u64, std::vector<LinkUse>&) const {
        return std::nullopt;
    }

    // Whether pending events are all there is to the model's state, so that a run may skip what comes
    // again; `repeat` then counts what was carried since `before` so many times more.
    virtual bool can_repeat() const { return false; }
    virtual void repeat(const std::vector<LinkUse>&, u64) {}

    // The messages sent from here on count for so many alike.
    void stand_for(u64 messages) { alike_ = messages; }

    // Use of every link that carried something, by dimension; see `LinkRecord`.
    struct LinkRecord {
        u32 dimension;
        u32 from;   // rank, or none for the one switch of the group of `to`; where groups have
        u32 to;     // several switches, these are numbered on from the last rank
        LinkUse use;
    };
    virtual std::vector<LinkRecord> links() const = 0;

    // Use of each dimension; whether a hop or a crossing counts is the model's grain.
    virtual std::vector<LinkUse> dimensions() const = 0;

    // How long the busiest link of each dimension carried bytes; nothing where there are no links.
    virtual std::vector<u64> busiest() const { return {}; }

protected:
    u64 alike_ = 1;
};

}  // namespace yantra
