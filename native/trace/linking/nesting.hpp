// Who is inside whom on a thread, and who follows whom on a stream, by times.
// Times in whole us may be up to 1 us off.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace yantra::linking {

// Spans of threads or streams; those of operators by start, longest first, calls by start.
struct Spans {
    std::span<const std::int64_t> start, end, lane, external;

    std::uint32_t size() const { return static_cast<std::uint32_t>(start.size()); }
};

constexpr std::int64_t nobody = -1;

// The innermost span around each on its lane, or `nobody`.
std::vector<std::int64_t> enclosing(const Spans& spans);

struct Nested {
    std::vector<std::int64_t> exclusive;  // ns of an operator outside its direct children
    std::vector<std::int64_t> owner;      // of a call: the innermost operator around it
};
Nested nest(const Spans& operators, const Spans& calls);

struct StreamOrder {
    // The last that had ended on the lane before each began, or `nobody`.
    std::vector<std::int64_t> after;
    std::uint64_t overlaps = 0;
};
StreamOrder stream_order(const Spans& ops);

}  // namespace yantra::linking
