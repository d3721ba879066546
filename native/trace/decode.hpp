// Decodes a Chakra trace (.et, not compressed; MLCommons Chakra schema 0.0.4; a varint length
// before each message). Trade-off: stricter than protobuf: a known field of another wire type is a
// fault, as it reveals older layouts (trace/legacy.hpp).
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "trace/trace.hpp"

namespace yantra {

// Execution needs only what `Graph` lifts; the rest is skipped undecoded.
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

// Throws TraceFault by the layout that explains most records. `layout` forces one.
Trace decode(std::string_view bytes, Reading reading = Reading::everything,
             std::optional<Layout> layout = std::nullopt);

}  // namespace yantra
