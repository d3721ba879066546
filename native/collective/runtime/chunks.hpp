// Chunks: collectives under way, cut into chunks, and each chunk's phases. A chunk is ASTRA-sim's
// stream, and what is cut its dataset (astra-sim-semantics 4).
#pragma once

#include <span>
#include <vector>

#include "base/huge_pages.hpp"
#include "base/ids.hpp"
#include "base/poison.hpp"
#include "base/pool.hpp"
#include "base/types.hpp"
#include "collective/kind.hpp"
#include "engine/completion.hpp"

namespace yantra {

struct Phase {
    u64 data = 0;
    u32 level = 0;
    u32 program = none;
    u32 queue = 0;
    CollectiveKind kind = CollectiveKind::all_reduce;
    bool clockwise = true;
    bool fixed_hand_over = false;
    bool idle = false;           // the rank does nothing in it
};

// Entered by one actor.
struct CollectiveInstance {
    Completion then;             // a: the actor, b: its node
    ActorId actor;
    NodeId node;
    u32 place = none;            // of the node among those of all actors
    u32 communicator = 0;
    u64 bytes = 0;
    u32 chunks_left = 0;
};

// One cache line.
struct alignas(64) Chunk {
    u64 id = 0;                  // among the chunks of all communicators
    i64 priority = 0;
    ActorId actor;
    u32 instance = none;
    u32 plan = none;
    u32 communicator = 0;
    u32 custom = none;           // collective given by traces, or none
    u32 first_phase = 0;
    u32 end_phase = 0;
    u32 phase = none;            // running or waiting to run; none before the first
    u32 queue = none;
    u32 table = none;            // of peers; none where messages are matched
    u32 member = none;           // of the table
    bool started = false;        // its phase runs
    // In a series only the current one exists: its place, and how many follow.
    u8 turn = 0;
    u8 later = 0;
};
static_assert(sizeof(Chunk) == 64);

class Chunks {
public:
    struct State {
        Pool<Chunk> chunks;
        Pool<CollectiveInstance> instances;
        HugeVector<Phase> phases;
        std::vector<std::vector<u32>> free_phases;   // freed blocks, by length
    };

    Chunk& operator[](ChunkId chunk) { return state_.chunks[chunk.index()]; }
    const Chunk& operator[](ChunkId chunk) const { return state_.chunks[chunk.index()]; }
    void fetch(ChunkId chunk) const { __builtin_prefetch(&(*this)[chunk], 1); }
    CollectiveInstance& instance(const Chunk& chunk) { return state_.instances[chunk.instance]; }
    const CollectiveInstance& instance(const Chunk& chunk) const {
        return state_.instances[chunk.instance];
    }
    const Phase& phase(u32 at) const { return state_.phases[at]; }
    const Phase& phase_of(const Chunk& chunk) const { return state_.phases[chunk.phase]; }
    // From 0.
    static u32 phase_number(const Chunk& chunk) { return chunk.phase - chunk.first_phase; }

    void expect(u64 chunks) { state_.chunks.reserve(chunks); }
    u32 enter() {
        const u32 instance = state_.instances.take_as_left();
        state_.instances[instance].chunks_left = 0;
        return instance;
    }
    CollectiveInstance& entered(u32 instance) { return state_.instances[instance]; }
    // If it was the last, true and who waits.
    bool chunk_ends(u32 instance, Completion& then) {
        CollectiveInstance& of = state_.instances[instance];
        if (--of.chunks_left > 0) {
            return false;
        }
        then = of.then;
        state_.instances.give_back(instance);
        return true;
    }
    // Before its phase.
    void takes_next_turn(ChunkId chunk) {
        Chunk& c = (*this)[chunk];
        --state_.instances[c.instance].chunks_left;
        ++c.id;
        ++c.turn;
        --c.later;
        c.phase = ++c.first_phase;
        ++c.end_phase;
    }
    void passes_turns(ChunkId chunk) {
        Chunk& c = (*this)[chunk];
        state_.instances[c.instance].chunks_left -= c.later;
        c.end_phase += c.later;
        c.phase = c.end_phase - 1;
        c.later = 0;
    }
    // Counts a chunk that nobody makes.
    void never_ends(u32 instance) { ++state_.instances[instance].chunks_left; }
    u32 place_of(u32 instance) const { return state_.instances[instance].place; }
    u32 chunks_left(u32 instance) const { return state_.instances[instance].chunks_left; }

    // The last `later` phases may be those of later chunks of its series.
    ChunkId make(u32 instance, std::span<const Phase> phases, u8 later = 0) {
        const ChunkId chunk(state_.chunks.take_as_left());
        Chunk& c = (*this)[chunk];
        CollectiveInstance& of = state_.instances[instance];
        c.actor = of.actor;
        c.instance = instance;
        c.plan = none;
        c.communicator = of.communicator;
        c.custom = none;
        c.first_phase = store(phases);
        c.end_phase = c.first_phase + static_cast<u32>(phases.size()) - later;
        c.phase = none;
        c.queue = none;
        c.table = none;
        c.member = none;
        c.id = 0;
        c.priority = 0;
        c.started = false;
        c.turn = 0;
        c.later = later;
        of.chunks_left += 1u + later;
        return chunk;
    }
    void give_back(ChunkId chunk) {
        const Chunk& c = (*this)[chunk];
        const u32 first = c.first_phase - c.turn;
        const u32 length = c.end_phase + c.later - first;
        Poison::overwrite(&state_.phases[first], length);
        state_.free_phases[length].push_back(first);
        state_.chunks.give_back(chunk.index());
    }

    State& state() { return state_; }

private:
    u32 store(std::span<const Phase> phases) {
        const std::size_t length = phases.size();
        if (state_.free_phases.size() <= length) {
            state_.free_phases.resize(length + 1);
        }
        u32 first;
        if (state_.free_phases[length].empty()) {
            first = static_cast<u32>(state_.phases.size());
            state_.phases.resize(state_.phases.size() + length);
        } else {
            first = state_.free_phases[length].back();
            state_.free_phases[length].pop_back();
        }
        Phase* to = &state_.phases[first];
        for (const Phase& phase : phases) {
            *to++ = phase;
        }
        return first;
    }

    State state_;
};

}  // namespace yantra
