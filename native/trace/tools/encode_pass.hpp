// encode_pass: a pass's operations as blocks of Chakra nodes, encoded once and copied many times.
// Control dependencies chain the device's computations, and each communicator's collectives.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "trace/tools/player.hpp"

namespace yantra {

// Of one rank. A collective has a `comm_type`, a send or receive a `peer`; anything else computes,
// or moves bytes (`mem_load`, `mem_store`).
struct PassOperation {
    std::string name, kind, phase, unit, dtype, group, peer;
    std::int64_t tensor_flops = 0;
    std::int64_t vector_flops = 0;
    std::int64_t repeated_flops = 0;
    std::int64_t bytes_read = 0;
    std::int64_t bytes_written = 0;
    std::vector<std::int64_t> shape;                             // the last of (batch, m, n, k)
    std::vector<std::pair<std::string, std::int64_t>> sizes;     // others, by name
    std::optional<std::int64_t> comm_type;
    std::int64_t size_bytes = 0;
    std::int64_t tag = 0;
    std::int64_t saves = 0;
    std::int64_t frees = 0;

    // Throw std::overflow_error beyond 63 bits.
    std::int64_t flops() const { return sum(tensor_flops, vector_flops); }
    std::int64_t moved() const { return sum(bytes_read, bytes_written); }

    bool moves_memory() const { return kind == "mem_load" || kind == "mem_store"; }
    bool computes() const { return !comm_type && peer.empty() && !moves_memory(); }

private:
    std::int64_t sum(std::int64_t a, std::int64_t b) const {
        std::int64_t whole = 0;
        if (__builtin_add_overflow(a, b, &whole)) {
            throw std::overflow_error("'" + name + "' has operations or bytes beyond 63 bits");
        }
        return whole;
    }
};

// Keys without a source are of this pass. `follows_all`: also for all earlier computations.
struct PassItem {
    struct Wait {
        std::uint32_t key = 0;
        bool is_control = false;
        std::optional<PassSource> source;
    };
    std::uint32_t key = 0;
    const PassOperation* operation = nullptr;
    std::vector<Wait> waits;
    bool follows_all = false;
    std::int64_t holds = 0;      // bytes of buffers from here on,
    std::int64_t releases = 0;   // and until here
};

struct PassTotals {
    using Sum = unsigned __int128;

    std::vector<std::string> groups;         // of its collectives, by first use
    Sum model_flops = 0;                     // of matrix products, recomputation excluded
    Sum hardware_flops = 0;                  // all of them
    Sum all_flops = 0;                       // those of vector units too
    std::int64_t saved = 0;                  // bytes of activations that it leaves behind
    std::int64_t held = 0;                   // and of buffers
    std::int64_t most_saved = 0;             // both at their joint peak
    std::int64_t most_held = 0;
    bool stores = false;                     // whether it moves activations beyond the device
    std::vector<std::uint32_t> messages;     // places of sends and receives
    std::optional<std::uint32_t> too_early;  // a place that waits for one not before it
};

struct EncodedPass {
    std::vector<Segment> segments;
    std::vector<PlaceInPass> places;
};

// Throws std::overflow_error beyond 63 bits.
PassTotals totals_of(std::span<const PassItem> items);

// `chunk`: none behind all passes. Throws std::invalid_argument.
EncodedPass encode_pass(const std::vector<std::vector<PassItem>>& parts,
                        std::optional<std::int64_t> chunk);

}  // namespace yantra
