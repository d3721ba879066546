// Decodes a Chakra trace (.et, not compressed) of any layout.
//
// Trade-off: stricter than protobuf: a known field of another wire type is a fault, as this reveals
// older layouts. Unknown fields are skipped or, reading everything, kept. A record of length 0 has
// default values. A file that today's layout does not fully explain is tried against older ones
// (trace/legacy.hpp). Source: MLCommons Chakra schema 0.0.4; framing = a varint length before each
// message.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "trace/trace.hpp"

namespace yantra {

// Execution needs only the attributes that `Graph` lifts; the rest, often most of the file, is
// skipped undecoded, so damage there goes unnoticed. Other needs are a bit each.
enum class Reading : std::uint8_t {
    execution = 0,
    execution_and_tensors = 1,
    execution_and_kernels = 2,
    execution_and_passes = 4,
    everything = 0xff,
};

constexpr Reading operator|(Reading a, Reading b) {
    return static_cast<Reading>(static_cast<std::uint8_t>(a) | static_cast<std::uint8_t>(b));
}

constexpr bool includes(Reading reading, Reading part) { return (reading | part) == reading; }

// Throws TraceFault with the offset of the first wrong byte, by the layout that explains most
// records. `layout` forces one.
Trace decode(std::string_view bytes, Reading reading = Reading::everything,
             std::optional<Layout> layout = std::nullopt);

}  // namespace yantra
