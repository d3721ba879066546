// The wire coding of each attribute kind (protobuf encoding guide).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/wire.hpp"
#include "base/zigzag.hpp"
#include "trace/schema.hpp"

namespace yantra {

struct Coding {
    enum class Sign : std::uint8_t { none, extend32, zigzag, boolean };

    WireType wire = WireType::varint;
    Sign sign = Sign::none;
    bool narrow = false;  // only 32 bits count
};

constexpr std::array<Coding, 33> make_codings() {
    using enum Coding::Sign;
    std::array<Coding, 33> table{};
    const auto set = [&table](AttributeKind kind, Coding coding) {
        table[static_cast<std::size_t>(kind)] = coding;
    };
    set(AttributeKind::double_, {WireType::fixed64, none, false});
    set(AttributeKind::float_, {WireType::fixed32, none, true});
    set(AttributeKind::int32, {WireType::varint, extend32, true});
    set(AttributeKind::int64, {WireType::varint, none, false});
    set(AttributeKind::uint32, {WireType::varint, none, true});
    set(AttributeKind::uint64, {WireType::varint, none, false});
    set(AttributeKind::sint32, {WireType::varint, zigzag, true});
    set(AttributeKind::sint64, {WireType::varint, zigzag, false});
    set(AttributeKind::fixed32, {WireType::fixed32, none, true});
    set(AttributeKind::fixed64, {WireType::fixed64, none, false});
    set(AttributeKind::sfixed32, {WireType::fixed32, extend32, true});
    set(AttributeKind::sfixed64, {WireType::fixed64, none, false});
    set(AttributeKind::boolean, {WireType::varint, boolean, false});
    set(AttributeKind::string, {WireType::block, none, false});
    set(AttributeKind::bytes, {WireType::block, none, false});
    return table;
}

inline constexpr std::array<Coding, 33> codings = make_codings();

constexpr const Coding& coding_of(AttributeKind kind) {
    return codings[static_cast<std::size_t>(element_kind(kind))];
}

constexpr std::uint64_t sign_extend32(std::uint64_t bits) {
    return static_cast<std::uint64_t>(
        static_cast<std::int64_t>(static_cast<std::int32_t>(static_cast<std::uint32_t>(bits))));
}

inline std::uint64_t number_of(std::uint64_t bits, const Coding& coding) {
    if (coding.narrow) {
        bits &= 0xffffffffU;
    }
    switch (coding.sign) {
        case Coding::Sign::none: return bits;
        case Coding::Sign::extend32: return sign_extend32(bits);
        case Coding::Sign::zigzag: return unzigzag(bits);
        case Coding::Sign::boolean: return bits != 0 ? 1 : 0;
    }
    return bits;
}

inline std::uint64_t read_number(WireReader& in, const Coding& coding) {
    const std::uint64_t bits = coding.wire == WireType::varint    ? in.varint()
                               : coding.wire == WireType::fixed64 ? in.fixed64()
                                                                  : in.fixed32();
    return number_of(bits, coding);
}

}  // namespace yantra
