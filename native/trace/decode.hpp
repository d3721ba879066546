// Decodes a Chakra trace (.et, not compressed) of any layout from memory.
//
// Trade-off: strict where protobuf is lenient: a known field of another wire type is a fault and not an
// unknown field, because that is how a file of an older layout gives itself away. Fields the schema does
// not know are passed over and, where everything is read, kept as they are. A record of length 0 is a record with default values, not the end of the file.
// A file that today's layout explains whole is read as such; any other is tried against the older ones
// (trace/legacy.hpp), so that files of today pay nothing for them.
// Source: MLCommons Chakra schema 0.0.4; framing = a varint length before each message.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "trace/trace.hpp"

namespace yantra {

// What is read of a trace. To execute it, only the attributes that `Graph` lifts are needed; the others,
// often most of the file, are passed over undecoded, so damage within their values goes unnoticed.
// What else a run may need is a bit each.
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

// Throws TraceFault with the offset of the first wrong byte; of a file that no layout explains whole, as
// the layout that explains most of its records sees it. `layout` reads as that one and no other.
Trace decode(std::string_view bytes, Reading reading = Reading::everything,
             std::optional<Layout> layout = std::nullopt);

}  // namespace yantra
