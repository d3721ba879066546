// Field handling of all layouts.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/utf8.hpp"
#include "base/wire.hpp"

namespace yantra {

inline const char* wire_name(WireType type) {
    switch (type) {
        case WireType::varint: return "a varint";
        case WireType::fixed64: return "fixed64";
        case WireType::fixed32: return "fixed32";
        default: return "length-delimited bytes";
    }
}

[[noreturn, gnu::cold]] inline void wrong_wire_type(WireTag tag, WireType type, std::uint64_t at,
                                                    const char* what) {
    throw TraceFault(at, "field " + std::to_string(tag.field) + " (" + what + ") holds " +
                             wire_name(tag.type) + ", expected " + wire_name(type) +
                             "; no layout of Chakra's history fits the file");
}

inline void expect(WireTag tag, WireType type, std::uint64_t at, const char* what) {
    if (tag.type != type) [[unlikely]] {
        wrong_wire_type(tag, type, at, what);
    }
}

inline void check_utf8(std::string_view text, std::uint64_t end, const char* what) {
    const std::size_t bad = first_bad_utf8(text);
    if (bad != text.size()) [[unlikely]] {
        throw TraceFault(end - text.size() + bad, std::string(what) + " is not valid UTF-8");
    }
}

inline std::string_view utf8(WireReader& in, const char* what) {
    const std::string_view text = in.block();
    check_utf8(text, in.offset(), what);
    return text;
}

inline std::string_view text(WireReader& in, WireTag tag, std::uint64_t at, const char* what) {
    expect(tag, WireType::block, at, what);
    return utf8(in, what);
}

// Record 0 is the metadata; id 0 is unknown (or the default).
[[noreturn]] inline void fail_in_record(const TraceFault& fault, std::size_t record, std::uint64_t id) {
    std::string where = record > 0 ? "node record " + std::to_string(record) : "metadata record";
    if (id != 0) {
        where += " (id " + std::to_string(id) + ")";
    }
    throw TraceFault(fault.byte_offset(), where + ": " + fault.problem());
}

}  // namespace yantra
