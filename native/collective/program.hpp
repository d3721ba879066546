// Programs: what the core executes for a phase of a collective, independent of sizes and time:
// sizes are shares of the phase's data and peers relative, so one serves all ranks
// (src/yantra/collectives).
#pragma once

#include <algorithm>
#include <variant>
#include <vector>

#include "base/types.hpp"

namespace yantra {

// num * floor(data / den); with `round_up`, ceil.
struct Share {
    u64 num = 1;
    u64 den = 1;
    u64 of(u64 data, bool round_up) const {
        return num * ((data + (round_up ? den - 1 : 0)) / den);
    }
    bool operator==(const Share&) const = default;
};

// The partner at `distance`: position xor distance, if `size` is a power of two. Else positions
// pair up in order: at distance 3, 0 and 3, 1 and 4, 2 and 5, then 6 and 9.
inline u32 partner_of(u32 position, u32 distance, u32 size) {
    if ((size & (size - 1)) == 0 || distance == 0) {
        return position ^ distance;
    }
    return position / distance % 2 == 0 ? position + distance : position - distance;
}

// The exchange machine (astra-sim-semantics 5.3 to 5.5). A run is `count` equal packets.
struct Run {
    u64 count = 0;
    i32 out = 0;
    i32 into = 0;
    bool by_xor = false;        // the peer is partner_of(pos, out, n), else pos + direction * out (mod n)
    Share bytes;
    Share reduce{0, 1};         // local reduction charged after the hand-over; num 0: none
    bool from_memory = false;   // enters the shared bus at the memory side ("nz")
    bool back = false;          // crosses the shared bus twice

    bool reduces() const { return reduce.num != 0; }
};

struct ExchangeProgram {
    std::vector<Run> runs;
    u64 window = 1;
    u64 sends = 0;
    u64 barrier_at = 0;         // sends left from which on `barrier_receipts` must have arrived
    u64 barrier_receipts = 0;
    bool barrier_counts_hand_overs = false;  // they must also have been handed over
    bool neighbours_only = true;  // every peer is one position away and gets messages of one size
    bool returns = false;         // some peer gets messages of several sizes

    u32 counter_of(i32 offset, bool by_xor, u32 size) const {
        if (by_xor) {
            return static_cast<u32>(offset < 0 ? -offset : offset);
        }
        const u32 distance =
            static_cast<u32>(offset < 0 ? offset + static_cast<i32>(size) : offset);
        return neighbours_only ? (distance == 1 ? 0 : 1) : distance;
    }
    u32 counters(u32 size) const { return neighbours_only ? 2 : size; }
};

// The graph machine: operations with dependencies, by position.
struct GraphOp {
    enum Kind : u8 { send, receive, local };
    Kind kind = local;
    u32 peer = none;            // position in the group, of position 0 where there is a symmetry
    Share bytes;
    Share reduce{0, 1};
    bool from_memory = false;   // as in Run
    bool back = false;
    bool back_if_last = false;  // back if it is the last of these to start on its position
    u32 dependencies = 0;
    u32 first_successor = 0;    // into GraphProgram::successors
    u32 last_successor = 0;
};

enum class Symmetry : u8 { none, add, exclusive_or };

struct GraphProgram {
    Symmetry symmetry = Symmetry::none;  // how other positions follow from position 0's operations
    std::vector<u32> first_op;  // of each position; one more at the end
    std::vector<GraphOp> ops;   // successors are numbered from the position's first op
    std::vector<u32> successors;
    // Positions after the ranks' are fabric switches: their numbers, and the positions with which
    // they start.
    std::vector<u32> switches;
    std::vector<u32> hosts;
    u64 step = 0;               // ticks of a hand-over of received data beside the endpoint delay
};

// A phase measured as a whole: all members end that long after the last has come. Time is linear
// between `points`, which ascend in bytes, and beyond. `charges`: what it puts on links
// (run/charges.hpp).
struct TimedProgram {
    struct Point {
        u64 bytes;
        u64 ticks;
    };
    // What members send in all, as a share of the phase's data: (node, place), in nodes of `local`,
    // sends to (node + `node`, place + `place`), modulo the counts. With `from_node` only that node
    // sends, to `node`.
    struct Charge {
        u32 from_node = none;
        u32 node = 0;
        u32 place = 0;
        double share = 0.0;
        u64 messages = 0;
    };
    // Charges from so many bytes on.
    struct Charges {
        u64 bytes = 0;
        std::vector<Charge> of;
    };
    std::vector<Point> points;
    u32 local = 1;
    std::vector<Charges> charges;   // ascending in bytes; empty if unknown

    const std::vector<Charge>* charges_of(u64 data) const {
        const std::vector<Charge>* found = nullptr;
        for (const Charges& from : charges) {
            found = found == nullptr || from.bytes <= data ? &from.of : found;
        }
        return found;
    }

    u64 ticks(u64 data) const {
        const auto after = std::upper_bound(points.begin(), points.end(), data,
                                            [](u64 bytes, const Point& p) { return bytes < p.bytes; });
        if (after == points.begin() || points.size() == 1) {
            return points.front().ticks;
        }
        const Point& b = after == points.end() ? points.back() : *after;
        const Point& a = *(after == points.end() ? points.end() - 2 : after - 1);
        const double share = static_cast<double>(data - a.bytes) / static_cast<double>(b.bytes - a.bytes);
        const double grown = static_cast<double>(b.ticks) - static_cast<double>(a.ticks);
        return static_cast<u64>(std::max(static_cast<double>(a.ticks) + share * grown, 1.0));
    }
};

struct Program {
    std::variant<ExchangeProgram, GraphProgram, TimedProgram> machine;
    Share result;               // data of the next phase as a share of this phase's
    bool round_up = false;
};

}  // namespace yantra
