// KinetoEvent: one event of a profiler trace, whose texts are views of the file's.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "trace/linking/json_scan.hpp"

namespace yantra::linking {

constexpr std::int64_t no_number = INT64_MIN;

// A value of which only numbers and texts matter.
struct NumberOrText {
    enum class Kind : std::uint8_t { none, number, text, other };
    Kind kind = Kind::none;
    std::int64_t number = 0;
    std::string_view text;

    bool is_number() const { return kind == Kind::number; }
    bool is_text() const { return kind == Kind::text; }
};

// Doubles have the ns of most recordings. In one where some are beyond that, all are read as decimals.
struct Exactness {
    bool is_needed = false;
    bool differ = false;  // a double has other ns
};

class KinetoEvent {
public:
    enum Number : std::size_t { external, rf_id, seq_id, correlation, device, bytes, kept };
    enum Shape : std::size_t { dims, types, concrete, strides, shape_fields };

    std::string_view ph, cat, name, args;
    bool has_name = false, has_id = false, communicates = false;
    NumberOrText pid, tid, stream;
    std::int64_t id = 0;
    std::string_view ts, dur;  // empty: none
    bool is_whole_ts = false, is_whole_dur = false;
    std::array<std::int64_t, kept> number{};
    std::array<std::string_view, shape_fields> shape{};

    // False if it is no event that any reader would take with these meanings.
    bool read(JsonScan& in);

    // In ns; false if impossible.
    bool times(std::int64_t& start, std::int64_t& end, Exactness& exactness) const;

private:
    bool field(JsonScan& in, std::string_view key);
    bool argument(JsonScan& in, std::string_view key);
};

}  // namespace yantra::linking
