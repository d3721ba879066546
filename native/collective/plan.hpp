// Plan: the levels (dimensions, innermost first, or stages in order) over which a communicator runs
// a kind of collective, and their programs.
#pragma once

#include <array>
#include <memory>
#include <vector>

#include "base/types.hpp"
#include "collective/communicator.hpp"
#include "collective/kind.hpp"
#include "collective/program.hpp"

namespace yantra {

inline constexpr u32 no_program = none;

struct Level {
    u32 size = 0;
    u32 stride = 1;                  // ignored over the communicator's members
    u32 index_stride = 1;            // same, counting only members of the communicator
    u32 dimension = 0;               // whose queues the level uses
    // If a communicator has only some ranks of a dimension: how many, `stride` apart.
    u32 extent = 0;
    std::shared_ptr<const Shape> members{};
    u32 lanes = 1;                   // queues that its chunks alternate among
    bool fixed_hand_over = false;    // `group_hand_over_ticks` in place of the endpoint delay
    std::array<u32, collective_kinds> program{};    // by kind; no_program where not offered
    std::array<u32, collective_kinds> alternate{};  // of every second phase, if `alternation` is set
    u32 alternation = none;          // index of a rank's counter of phases on this level
};

struct Plan {
    std::vector<Level> levels;
    bool over_members = false;       // of the communicator, on one level; else levels are strides of the grid
    u32 communicator_size = 0;
    u32 custom = none;               // index of a custom collective that replaces the levels
    bool masked = true;              // the node's involved dimensions select levels
    bool shared_load = false;        // inter-dimension schedulers apply
    // Each level once, in order, with its own queues.
    bool in_stages = false;
    u32 chunks = 0;                  // per collective; 0: the default
};

// Position of a rank in a level and back.
struct Place {
    u32 size = 0;
    u32 stride = 1;
    u32 index_stride = 1;
    u32 base = 0;
    u32 position = 0;
    const u32* offsets = nullptr;    // of the positions from `base`, if no stride gives them,
    u32 unit = 1;                    // in so many ranks

    // With `by_xor`, the partner at that distance.
    u32 position_at(i32 offset, bool by_xor, bool clockwise) const {
        if (by_xor) {
            return partner_of(position, static_cast<u32>(offset), size);
        }
        const i64 n = size;
        i64 there = i64{position} + (clockwise ? offset : -offset);
        if (there >= n) {
            there -= n;
        } else if (there < 0) {
            there += n;
        }
        return static_cast<u32>(there);
    }
    u32 rank_at(u32 position_) const {
        return base + (offsets != nullptr ? offsets[position_] * unit : position_ * stride);
    }
};

inline u32 peer_position(const GraphProgram& graph, const Place& place, u32 peer) {
    switch (graph.symmetry) {
        case Symmetry::add: {
            const u64 position = u64{place.position} + peer;
            return static_cast<u32>(position < place.size ? position : position - place.size);
        }
        case Symmetry::exclusive_or:
            return place.position ^ peer;
        case Symmetry::none:
            break;
    }
    return peer;
}

}  // namespace yantra
