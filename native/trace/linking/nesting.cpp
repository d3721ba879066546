#include "trace/linking/nesting.hpp"

#include <algorithm>
#include <tuple>
#include <unordered_map>
#include <utility>

namespace yantra::linking {

namespace {

constexpr std::int64_t truncation_ns = 1000, noise_ns = 1000;
using Stack = std::vector<std::uint32_t>;

// Rows of each lane, in their order.
std::unordered_map<std::int64_t, std::vector<std::uint32_t>> by_lane(const Spans& spans) {
    std::unordered_map<std::int64_t, std::vector<std::uint32_t>> found;
    for (std::uint32_t row = 0; row < spans.size(); ++row) {
        found[spans.lane[row]].push_back(row);
    }
    return found;
}

bool encloses(const Spans& spans, std::uint32_t outer, std::uint32_t inner) {
    const std::int64_t end = spans.end[outer];
    return spans.start[inner] < end && spans.end[inner] <= end + (end % 1000 != 0 ? 0 : truncation_ns);
}

void leave(const Spans& spans, Stack& stack, std::uint32_t next) {
    while (!stack.empty() && !encloses(spans, stack.back(), next)) {
        stack.pop_back();
    }
}

std::int64_t owner_of(const Spans& spans, Stack& stack, std::int64_t start, std::int64_t external) {
    while (!stack.empty() && spans.end[stack.back()] < start) {
        stack.pop_back();
    }
    std::int64_t best = nobody;
    for (auto at = stack.rbegin(); at != stack.rend(); ++at) {
        const std::int64_t begin = spans.start[*at], end = spans.end[*at];
        if (end < start) {
            continue;
        }
        const bool at_the_edge = begin == start || end == start;
        if (!at_the_edge || spans.external[*at] == external) {
            return *at;
        }
        if (best == nobody && end > start) {
            best = *at;
        }
    }
    return best;
}

}  // namespace

std::vector<std::int64_t> enclosing(const Spans& spans) {
    std::vector<std::int64_t> found(spans.size(), nobody);
    std::unordered_map<std::int64_t, Stack> stacks;
    for (std::uint32_t row = 0; row < spans.size(); ++row) {
        Stack& stack = stacks[spans.lane[row]];
        leave(spans, stack, row);
        if (!stack.empty()) {
            found[row] = stack.back();
        }
        stack.push_back(row);
    }
    return found;
}

Nested nest(const Spans& operators, const Spans& calls) {
    Nested found;
    found.owner.assign(calls.size(), nobody);
    found.exclusive.resize(operators.size());
    for (std::uint32_t row = 0; row < operators.size(); ++row) {
        found.exclusive[row] = operators.end[row] - operators.start[row];
    }
    const auto calls_of = by_lane(calls);
    for (const auto& [lane, rows] : by_lane(operators)) {
        const auto known = calls_of.find(lane);
        const std::vector<std::uint32_t> none;
        const auto& own = known == calls_of.end() ? none : known->second;
        std::size_t next = 0;
        Stack stack;
        const auto own_call = [&] {
            const std::uint32_t call = own[next++];
            found.owner[call] = owner_of(operators, stack, calls.start[call], calls.external[call]);
        };
        for (const std::uint32_t row : rows) {
            while (next < own.size() && calls.start[own[next]] < operators.start[row]) {
                own_call();
            }
            leave(operators, stack, row);
            if (!stack.empty()) {
                const std::uint32_t outer = stack.back();
                found.exclusive[outer] -= std::min(operators.end[row], operators.end[outer]) - operators.start[row];
            }
            stack.push_back(row);
        }
        while (next < own.size()) {
            own_call();
        }
    }
    return found;
}

StreamOrder stream_order(const Spans& ops) {
    struct Lane {
        std::int64_t ended = nobody;
        std::vector<std::uint32_t> running;
    };
    StreamOrder found;
    found.after.assign(ops.size(), nobody);
    std::unordered_map<std::int64_t, Lane> lanes;
    for (std::uint32_t op = 0; op < ops.size(); ++op) {
        Lane& lane = lanes[ops.lane[op]];
        std::vector<std::uint32_t> still;
        for (const std::uint32_t earlier : lane.running) {
            if (ops.end[earlier] > ops.start[op] + noise_ns) {
                still.push_back(earlier);
            } else if (lane.ended == nobody ||
                       std::tuple(ops.end[earlier], std::int64_t{earlier}) >
                           std::tuple(ops.end[static_cast<std::size_t>(lane.ended)], lane.ended)) {
                lane.ended = earlier;
            }
        }
        found.overlaps += still.empty() ? 0 : 1;
        found.after[op] = lane.ended;
        still.push_back(op);
        lane.running = std::move(still);
    }
    return found;
}

}  // namespace yantra::linking
