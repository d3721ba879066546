// Event: what happens when, to whom; the kind is the component's own.
#pragma once

#include <type_traits>

#include "base/types.hpp"
#include "base/variant.hpp"
#include "record/recorder.hpp"

namespace yantra {

enum class Owner : u8 {
    rank_events,   // a batch of an actor: see rank_events.hpp
    exchange,
    graph,
    custom,
    collectives,
    execution,
    transport,
    network,
    memory,
    bus,
    local_bandwidth,
    arrivals,
};
inline constexpr std::size_t owners = static_cast<std::size_t>(Owner::arrivals) + 1;

// A kind has 28 bits, for some of its owner's data.
class EventKind {
public:
    static constexpr u32 kind_bits = 28;

    constexpr EventKind() = default;   // no event
    template <class Kind>
    constexpr EventKind(Owner owner, Kind kind)
        : packed_(static_cast<u32>(owner) << kind_bits | static_cast<u32>(kind)) {}

    constexpr Owner owner() const { return static_cast<Owner>(packed_ >> kind_bits); }
    constexpr u32 kind() const { return packed_ & ((1u << kind_bits) - 1); }
    constexpr u32 packed() const { return packed_; }
    constexpr EventKind moved(u32 by) const {
        EventKind other;
        other.packed_ = packed_ + by;
        return other;
    }
    constexpr bool is_none() const { return packed_ == none; }
    friend constexpr bool operator==(EventKind, EventKind) = default;

private:
    u32 packed_ = none;
};

struct Notice {
    EventKind kind;
    u32 index = none;
};

inline namespace YANTRA_RUN {

struct Event {
    u64 time;
    EventKind kind;
    u32 index;
    [[no_unique_address]] Trail trail;
};

// Consecutive events of one time and owner: kinds and indices evenly spaced, or one kind with a
// list of indices.
struct EventRun {
    u64 time;
    EventKind first_kind;
    u32 first;
    u32 count;
    u32 kind_stride;
    u32 stride;                  // of a list: how many were left out before it
    const u32* list;             // of the indices, or null
    [[no_unique_address]] Trail trail;

    static constexpr u32 most_made_list = 64;

    struct Indices {
        u32 first;
        u32 stride;
        const u32* list;
        u32 operator[](u32 at) const { return list != nullptr ? list[at] : first + at * stride; }
    };

    Owner owner() const { return first_kind.owner(); }
    EventKind kind(u32 at) const { return first_kind.moved(at * kind_stride); }
    Indices indices() const { return {first, stride, list}; }
    u32 index(u32 at) const { return indices()[at]; }
    Event event(u32 at) const { return {time, kind(at), index(at), trail}; }
    void write_indices(u32* to) const {
        const Indices own = indices();
        for (u32 at = 0; at < count; ++at) {
            to[at] = own[at];
        }
    }

    // Adds an event of the same time; two of one owner always fit.
    bool goes_on(EventKind next_kind, u32 next) {
        if constexpr (!std::is_empty_v<Trail>) {
            return false;
        }
        if (list != nullptr) [[unlikely]] {
            return false;
        }
        if (count == 1 && next_kind.owner() == owner()) {
            kind_stride = next_kind.packed() - first_kind.packed();
            stride = next - first;
        } else if (count == 1 || next != index(count) || next_kind != kind(count)) {
            return false;
        }
        ++count;
        return true;
    }
    void begin(u64 at, EventKind kind, u32 index, const Trail& of) {
        time = at;
        first_kind = kind;
        first = index;
        count = 1;
        kind_stride = 0;
        stride = 0;
        list = nullptr;
        trail = of;
    }
    // Precondition: there are more.
    void leave_out(u32 events) {
        first_kind = kind(events);
        count -= events;
        if (list != nullptr) {
            list += events;
            stride += events;
        } else {
            first += events * stride;
        }
    }
};

}  // namespace YANTRA_RUN

}  // namespace yantra
