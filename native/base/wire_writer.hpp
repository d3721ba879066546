// WireWriter: appends the protobuf wire format to a string. Trade-off: a nested message is written
// twice (alone, then into its parent), which saves a sizing pass.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "base/wire.hpp"

namespace yantra {

class WireWriter {
public:
    explicit WireWriter(std::string& out) : out_(out) {}

    void varint(std::uint64_t value) {
        for (; value >= 0x80; value >>= 7U) {
            out_.push_back(static_cast<char>((value & 0x7fU) | 0x80U));
        }
        out_.push_back(static_cast<char>(value));
    }

    void tag(std::uint32_t field, WireType type) {
        varint(std::uint64_t{field} << 3U | static_cast<std::uint64_t>(type));
    }

    void number(std::uint32_t field, std::uint64_t value) {
        tag(field, WireType::varint);
        varint(value);
    }

    void fixed32(std::uint32_t value) { fixed(value); }
    void fixed64(std::uint64_t value) { fixed(value); }

    // A block field, or a record of a stream.
    void block(std::string_view bytes) {
        varint(bytes.size());
        out_.append(bytes);
    }

    void block(std::uint32_t field, std::string_view bytes) {
        tag(field, WireType::block);
        block(bytes);
    }

private:
    template <typename Word>
    void fixed(Word value) {
        char bytes[sizeof(Word)];
        std::memcpy(bytes, &value, sizeof(Word));
        out_.append(bytes, sizeof(Word));
    }

    std::string& out_;
};

}  // namespace yantra
