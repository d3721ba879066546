// Limits of sizes and durations in a trace: exporters write negative numbers, which are enormous
// when unsigned.
#pragma once

#include <cstdint>
#include <string>

namespace yantra {

// Whose nanoseconds have 63 bits: 292 years.
inline constexpr std::uint64_t longest_micros = ((std::uint64_t{1} << 63) - 1) / 1000;

inline bool is_size(std::uint64_t value) { return value >> 63U == 0; }
inline bool is_duration(std::uint64_t micros) { return micros <= longest_micros; }

inline std::string not_a_size(const std::string& name, std::uint64_t value) {
    return name + " is " + std::to_string(static_cast<std::int64_t>(value)) +
           "; it must be at least 0 and below 2^63";
}

inline std::string not_a_duration(std::uint64_t micros) {
    const std::string is = "lasts " + std::to_string(micros) + " us; ";
    return micros >> 63U != 0 ? is + "as a signed number that is " +
                                    std::to_string(static_cast<std::int64_t>(micros)) + " us"
                              : is + "the most is " + std::to_string(longest_micros) + " us, 292 years";
}

}  // namespace yantra
