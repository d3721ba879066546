// WireReader: a bounds-checked reader of the protobuf wire format
// (https://protobuf.dev/programming-guides/encoding). Groups (wire types 3 and 4) are refused.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>
#include <string_view>

namespace yantra {

inline constexpr std::uint64_t max_record_bytes = 0x7fffffff;

class TraceFault : public std::runtime_error {
public:
    TraceFault(std::uint64_t byte_offset, const std::string& problem)
        : std::runtime_error("byte " + std::to_string(byte_offset) + ": " + problem),
          byte_offset_(byte_offset),
          problem_(problem) {}

    std::uint64_t byte_offset() const { return byte_offset_; }
    const std::string& problem() const { return problem_; }

private:
    std::uint64_t byte_offset_;
    std::string problem_;
};

inline std::string byte_count(std::uint64_t count) {
    return std::to_string(count) + (count == 1 ? " byte" : " bytes");
}

enum class WireType : std::uint8_t {
    varint = 0,
    fixed64 = 1,
    block = 2,
    fixed32 = 5,   // 3 and 4 were groups
};

struct WireTag {
    std::uint32_t field;
    WireType type;
};

class WireReader {
public:
    // Offsets in faults count from `first_offset`.
    explicit WireReader(std::string_view bytes, std::uint64_t first_offset = 0)
        : begin_(bytes.data()),
          cursor_(bytes.data()),
          end_(bytes.data() + bytes.size()),
          first_offset_(first_offset) {}

    bool at_end() const { return cursor_ == end_; }
    std::uint64_t offset() const {
        return first_offset_ + static_cast<std::uint64_t>(cursor_ - begin_);
    }
    std::size_t left() const { return static_cast<std::size_t>(end_ - cursor_); }

    [[gnu::always_inline]] std::uint64_t varint() {
        if (cursor_ != end_ && byte_at(cursor_) < 0x80) [[likely]] {
            return byte_at(cursor_++);
        }
        return long_varint();
    }

    WireTag tag() {
        const std::uint64_t start = offset();
        const std::uint64_t key = varint();
        const std::uint64_t field = key >> 3U;
        const auto type = static_cast<std::uint8_t>(key & 7U);
        if (field == 0 || field > max_field || type > 5 || type == 3 || type == 4) [[unlikely]] {
            bad_tag(start, field, type);
        }
        return {static_cast<std::uint32_t>(field), static_cast<WireType>(type)};
    }

    std::uint32_t fixed32() { return fixed<std::uint32_t>(); }
    std::uint64_t fixed64() { return fixed<std::uint64_t>(); }

    std::string_view block() {
        const std::uint64_t start = offset();
        const std::uint64_t size = varint();
        if (size > left()) [[unlikely]] {
            long_block(start, size);
        }
        const std::string_view bytes(cursor_, static_cast<std::size_t>(size));
        cursor_ += size;
        return bytes;
    }

    WireReader message() {
        const std::string_view bytes = block();
        return WireReader(bytes, offset() - bytes.size());
    }

    // A message of a stream, after its length as a varint of at most 32 bits.
    WireReader record() {
        const std::uint64_t start = offset();
        const std::uint64_t size = varint();
        if (offset() - start > 5 || size > max_record_bytes || size > left()) [[unlikely]] {
            bad_record(start, size);
        }
        const std::string_view bytes(cursor_, static_cast<std::size_t>(size));
        cursor_ += size;
        return WireReader(bytes, offset() - bytes.size());
    }

    // Prefetches four cache lines; readers of many files need it.
    void fetch(std::size_t ahead) const {
        constexpr std::size_t line = 64;
        if (left() > ahead + 4 * line) {
            for (std::size_t at = 0; at < 4; ++at) {
                __builtin_prefetch(cursor_ + ahead + at * line);
            }
        }
    }

    std::string_view since(std::uint64_t offset_before) const {
        const auto size = static_cast<std::size_t>(offset() - offset_before);
        return {cursor_ - size, size};
    }

    void skip(WireType type) {
        switch (type) {
            case WireType::varint: varint(); return;
            case WireType::fixed64: fixed64(); return;
            case WireType::fixed32: fixed32(); return;
            default: block(); return;
        }
    }

private:
    static constexpr std::uint64_t max_field = (1U << 29U) - 1;

    static std::uint8_t byte_at(const char* at) { return static_cast<std::uint8_t>(*at); }

    [[gnu::noinline]] std::uint64_t long_varint() {
        const std::uint64_t start = offset();
        std::uint64_t value = 0;
        for (unsigned shift = 0;; shift += 7) {
            if (cursor_ == end_) {
                throw TraceFault(start, "a number is cut off by the end of its message");
            }
            const std::uint64_t digit = byte_at(cursor_++);
            if (shift == 63 && digit > 1) {
                throw TraceFault(start, "a number is longer than 64 bits");
            }
            value |= (digit & 0x7fU) << shift;
            if (digit < 0x80) {
                return value;
            }
        }
    }

    template <typename Word>
    Word fixed() {
        if (left() < sizeof(Word)) [[unlikely]] {
            short_number(sizeof(Word));
        }
        Word value = 0;
        std::memcpy(&value, cursor_, sizeof(Word));
        cursor_ += sizeof(Word);
        return value;
    }

    // Separate, to keep the rest small.
    [[noreturn, gnu::cold]] static void bad_tag(std::uint64_t start, std::uint64_t field,
                                                std::uint8_t type) {
        throw TraceFault(start, "field " + std::to_string(field) + " with wire type " +
                                    std::to_string(type) + " is no field of a Chakra trace");
    }

    [[noreturn, gnu::cold]] void long_block(std::uint64_t start, std::uint64_t size) const {
        throw TraceFault(start, "a field of " + byte_count(size) +
                                    " reaches past the end of its message; " + remaining());
    }

    [[noreturn, gnu::cold]] void bad_record(std::uint64_t start, std::uint64_t size) const {
        if (offset() - start > 5 || size > max_record_bytes) {
            throw TraceFault(start, "a length of " + byte_count(size) + ", written in " +
                                        byte_count(offset() - start) +
                                        ", is more than a record can have");
        }
        throw TraceFault(start, "a record of " + byte_count(size) + " begins here; " + remaining() +
                                    "; the file is truncated or no Chakra trace");
    }

    [[noreturn, gnu::cold]] void short_number(std::uint64_t size) const {
        throw TraceFault(offset(), "a number of " + byte_count(size) +
                                       " is cut off by the end of its message; " + remaining());
    }

    std::string remaining() const {
        return byte_count(left()) + (left() == 1 ? " is left" : " are left");
    }

    const char* begin_;
    const char* cursor_;
    const char* end_;
    std::uint64_t first_offset_;
};

}  // namespace yantra
