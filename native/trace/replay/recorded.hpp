// Recorded: a rank's linked trace in columns: operators, device ops, waits and flows, which refer to
// each other by place.
#pragma once

#include <cstdint>
#include <span>

namespace yantra::replay {

constexpr std::uint32_t none = 0xffffffff;
constexpr std::uint32_t missing = none - 1;  // an id that nothing has

template <class Value>
using Values = std::span<const Value>;

struct Operators {
    static constexpr std::uint32_t timed = 1, root = 2, annotation = 4;
    Values<std::int64_t> id, tid, start, dur;
    Values<std::uint32_t> parent, name, flags;

    std::uint32_t size() const { return static_cast<std::uint32_t>(id.size()); }
    bool is(std::uint32_t one, std::uint32_t flag) const { return (flags[one] & flag) != 0; }
};

struct DeviceOps {
    static constexpr std::uint32_t has_thread = 1, launched = 2, communicates = 4;
    Values<std::int64_t> id, device, stream, start, dur, launch_tid, launch_start, launch_end,
        correlation;
    Values<std::uint32_t> parent, name, launch_name, flags, first, after;  // `first` has one more

    std::uint32_t size() const { return static_cast<std::uint32_t>(id.size()); }
    bool is(std::uint32_t one, std::uint32_t flag) const { return (flags[one] & flag) != 0; }
    std::int64_t end(std::uint32_t one) const { return start[one] + dur[one]; }
    Values<std::uint32_t> awaited(std::uint32_t one) const {
        return after.subspan(first[one], first[one + 1] - first[one]);
    }
};

struct Waits {
    Values<std::int64_t> tid, start, dur;
    Values<std::uint32_t> op, name, first, after;

    std::uint32_t size() const { return static_cast<std::uint32_t>(tid.size()); }
    std::int64_t end(std::uint32_t one) const { return start[one] + dur[one]; }
    Values<std::uint32_t> awaited(std::uint32_t one) const {
        return after.subspan(first[one], first[one + 1] - first[one]);
    }
};

struct Flows {
    static constexpr std::uint32_t backward = 0, thread = 1;
    Values<std::uint32_t> source, target, kind;

    std::uint32_t size() const { return static_cast<std::uint32_t>(source.size()); }
};

// Names are in alphabetical order.
struct Recorded {
    Operators operators;
    DeviceOps ops;
    Waits waits;
    Flows flows;
};

}  // namespace yantra::replay
