// Appends JSON (RFC 8259) that reads back the same. Trade-off: whole numbers above 2^53 are texts.
#pragma once

#include <array>
#include <charconv>
#include <string>
#include <string_view>

#include "base/types.hpp"

namespace yantra {

inline void append_number(std::string& out, u64 value) {
    std::array<char, 20> digits{};
    const auto [end, error] = std::to_chars(digits.data(), digits.data() + digits.size(), value);
    out.append(digits.data(), end);
}

inline void append_number(std::string& out, double value) {
    std::array<char, 32> digits{};
    const auto [end, error] = std::to_chars(digits.data(), digits.data() + digits.size(), value);
    out.append(digits.data(), end);
}

inline void append_json(std::string& out, u64 value) {
    constexpr u64 exact = u64{1} << 53U;
    if (value <= exact) {
        append_number(out, value);
        return;
    }
    out += '"';
    append_number(out, value);
    out += '"';
}

inline void append_json(std::string& out, std::string_view text) {
    constexpr std::string_view hex = "0123456789abcdef";
    out += '"';
    for (const char character : text) {
        const auto byte = static_cast<unsigned char>(character);
        if (character == '"' || character == '\\') {
            out += '\\';
            out += character;
        } else if (byte < 0x20) {
            out += "\\u00";
            out += hex[byte >> 4U];
            out += hex[byte & 15U];
        } else {
            out += character;
        }
    }
    out += '"';
}

}  // namespace yantra
