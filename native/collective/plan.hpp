// Plan: over which levels a communicator runs one kind of collective, and with which programs.
//
// A level is a one-dimensional ring of members: every `stride`-th rank of the grid, or those of the
// communicator. The levels of a plan are the dimensions of a hierarchical collective, innermost first.
#pragma once

#include <array>
#include <memory>

#include "base/types.hpp"
#include "base/vector.hpp"
#include "collective/kind.hpp"
#include "collective/program.hpp"

namespace yantra {

inline constexpr u32 no_program = none;

struct Level {
    u32 size = 0;
    u32 stride = 1;                  // ignored where the plan runs over the communicator's members
    u32 index_stride = 1;            // same, counting only members of the communicator
    u32 dimension = 0;               // whose queues the level uses
    bool fixed_hand_over = false;    // `group_hand_over_ticks` in place of the endpoint delay
    std::array<u32, collective_kinds> program{};    // by kind; no_program where not offered
    std::array<u32, collective_kinds> alternate{};  // of every second phase, where `alternation` is set
    u32 alternation = none;          // index of the counter of phases made on this level by a rank
};

struct Plan {
    Vector<Level> levels;
    bool over_members = false;       // of the communicator, on one level; else levels are strides of the grid
    u32 communicator_size = 0;
    u32 custom = none;               // index of a custom collective that replaces the levels
    bool masked = true;              // the node's involved dimensions select among the levels
    bool shared_load = false;        // inter-dimension schedulers apply (the whole grid)
    bool whole = false;              // a collective is one chunk, as its time is known of the whole
};

// Position of a rank in a level and back.
struct Place {
    u32 size = 0;
    u32 stride = 1;
    u32 index_stride = 1;
    u32 base = 0;
    u32 position = 0;
    const u32* offsets = nullptr;    // of the positions from `base`, where no stride gives them

    // The position so far along the ring, or the partner so far away.
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
        return base + (offsets != nullptr ? offsets[position_] : position_ * stride);
    }
};

// Whom an operation of a graph names, seen from a place.
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
