// A timeline as columns: slices on tracks, and messages that leave and arrive in them.
#pragma once

#include <span>
#include <vector>

#include "base/ensure.hpp"
#include "base/types.hpp"

namespace yantra {

inline constexpr u64 absent = ~u64{0};

// Of each slice: a whole number, a real one (the bits of a double) or a text.
struct Argument {
    enum class Kind : u8 { whole, real, text };

    u64 name = 0;                  // a text
    Kind kind = Kind::whole;
    std::span<const u64> values;   // `absent` for none
};

// Ordered within a track.
struct Slices {
    std::span<const u64> track, name, category, start, end;
    std::vector<Argument> arguments;

    std::size_t size() const { return track.size(); }
};

struct MessageEnds {
    std::span<const u64> slice;    // ascending
    std::span<const u64> time;     // ascending within a slice, and within its time
    std::span<const u64> name;
    std::span<const u64> flow;     // joins both ends of a message; `absent`: no arrow
    std::span<const u64> arrives;  // 1, or 0 where it leaves
    std::vector<Argument> arguments;

    std::size_t size() const { return slice.size(); }
};

inline void check(const Slices& slices, const MessageEnds& ends) {
    const std::size_t size = slices.size();
    ensure(slices.name.size() == size && slices.category.size() == size &&
               slices.start.size() == size && slices.end.size() == size,
           "timeline: columns of slices differ in length");
    for (std::size_t i = 0; i < size; ++i) {
        ensure(slices.start[i] <= slices.end[i], "timeline: a slice ends before it starts");
    }
    const std::size_t count = ends.size();
    ensure(ends.time.size() == count && ends.name.size() == count && ends.flow.size() == count &&
               ends.arrives.size() == count,
           "timeline: columns of messages differ in length");
    for (std::size_t i = 0; i < count; ++i) {
        const u64 slice = ends.slice[i];
        ensure(slice < size && (i == 0 || ends.slice[i - 1] <= slice),
               "timeline: messages are not in the order of slices");
        const u64 since =
            i > 0 && ends.slice[i - 1] == slice ? ends.time[i - 1] : slices.start[slice];
        ensure(since <= ends.time[i] && ends.time[i] <= slices.end[slice],
               "timeline: a message leaves or arrives outside its slice");
    }
    for (const Argument& argument : slices.arguments) {
        ensure(argument.values.size() == size, "timeline: columns of slices differ in length");
    }
    for (const Argument& argument : ends.arguments) {
        ensure(argument.values.size() == count, "timeline: columns of messages differ in length");
    }
}

// In order of time on each track.
template <typename Writer>
void in_order(const Slices& slices, const MessageEnds& ends, Writer&& writer) {
    std::size_t next = 0;
    for (std::size_t i = 0; i < slices.size(); ++i) {
        writer.begin(i);
        for (; next < ends.size() && ends.slice[next] == i; ++next) {
            writer.message(next);
        }
        writer.end(i);
    }
}

}  // namespace yantra
