// Encodes a Trace as a Chakra file (layout 0.0.4, not compressed).
//
// Trade-off: one fixed form: fields ascending, default values left out, number lists packed. The same
// trace always gives the same bytes, and they are those of protobuf's own serializers.
// Source: MLCommons Chakra schema 0.0.4; framing = a varint length before each message.
#pragma once

#include <string>

#include "trace/trace.hpp"

namespace yantra {

std::string encode(const Trace& trace);

}  // namespace yantra
