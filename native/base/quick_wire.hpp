// QuickReader: reads the wire format like WireReader, without saying what is wrong. Where
// WireReader throws it returns false; read again with WireReader for the message.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "base/wire.hpp"

namespace yantra {

constexpr std::uint64_t key_of(std::uint32_t field, WireType type) {
    return std::uint64_t{field} << 3U | static_cast<std::uint64_t>(type);
}

class QuickReader {
public:
    QuickReader() = default;
    explicit QuickReader(std::string_view bytes) : cursor_(bytes.data()), end_(bytes.data() + bytes.size()) {}

    bool at_end() const { return cursor_ == end_; }
    std::size_t left() const { return static_cast<std::size_t>(end_ - cursor_); }
    std::string_view rest() const { return {cursor_, left()}; }

    [[gnu::always_inline]] bool varint(std::uint64_t& value) {
        if (at_end()) [[unlikely]] {
            return false;
        }
        value = next();
        return value < 0x80 || rest_of_varint(value);
    }

    [[gnu::always_inline]] bool block(std::string_view& bytes) {
        std::uint64_t size = 0;
        if (!varint(size) || size > left()) [[unlikely]] {
            return false;
        }
        bytes = std::string_view(cursor_, static_cast<std::size_t>(size));
        cursor_ += size;
        return true;
    }

    [[gnu::always_inline]] bool message(QuickReader& inner) {
        std::string_view bytes;
        if (!block(bytes)) [[unlikely]] {
            return false;
        }
        inner = QuickReader(bytes);
        return true;
    }

    bool record(QuickReader& inner) {
        const char* const start = cursor_;
        std::uint64_t size = 0;
        if (!varint(size) || cursor_ - start > 5 || size > max_record_bytes || size > left()) [[unlikely]] {
            return false;
        }
        inner = QuickReader(std::string_view(cursor_, static_cast<std::size_t>(size)));
        cursor_ += size;
        return true;
    }

    bool number(WireType type, std::uint64_t& bits) {
        switch (type) {
            case WireType::varint: return varint(bits);
            case WireType::fixed64: return fixed<std::uint64_t>(bits);
            case WireType::fixed32: return fixed<std::uint32_t>(bits);
            default: return false;
        }
    }

    void fetch(std::size_t ahead) const {
        constexpr std::size_t line = 64;
        if (left() > ahead + 4 * line) {
            for (std::size_t at = 0; at < 4; ++at) {
                __builtin_prefetch(cursor_ + ahead + at * line);
            }
        }
    }

private:
    std::uint64_t next() { return static_cast<std::uint8_t>(*cursor_++); }

    bool rest_of_varint(std::uint64_t& value) {
        value &= 0x7fU;
        for (unsigned shift = 7; cursor_ != end_; shift += 7) {
            const std::uint64_t digit = next();
            if (shift == 63 && digit > 1) {
                return false;
            }
            value |= (digit & 0x7fU) << shift;
            if (digit < 0x80) {
                return true;
            }
        }
        return false;
    }

    template <typename Word>
    bool fixed(std::uint64_t& bits) {
        Word value = 0;
        if (left() < sizeof(Word)) {
            return false;
        }
        std::memcpy(&value, cursor_, sizeof(Word));
        cursor_ += sizeof(Word);
        bits = value;
        return true;
    }

    const char* cursor_ = nullptr;
    const char* end_ = nullptr;
};

}  // namespace yantra
