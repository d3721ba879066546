// ChunkShapes: what the chunks of members must have in common to be of one collective.
#pragma once

#include <span>
#include <vector>

#include "collective/runtime/chunks.hpp"
#include "transport/peer_tables.hpp"

namespace yantra::inline YANTRA_RUN {

class ChunkShapes {
public:
    ChunkShapes(const Chunks& chunks, bool with_bytes) : chunks_(chunks), with_bytes_(with_bytes) {}

    // Chunks of one number `planned` are alike; 0 is like no other.
    std::span<const PhaseShape> of(const Chunk& c, u64 planned) {
        if (planned == 0 || planned_ != planned) {
            tell(c, c.end_phase);
            planned_ = planned;
        }
        return shapes_;
    }
    // Of its first phase alone.
    std::span<const PhaseShape> of_one(const Chunk& c) {
        tell(c, c.first_phase + 1);
        planned_ = 0;
        return shapes_;
    }

private:
    void tell(const Chunk& c, u32 end) {
        shapes_.clear();
        for (u32 at = c.first_phase; at < end; ++at) {
            const Phase& phase = chunks_.phase(at);
            shapes_.push_back({phase.program, phase.level, phase.data});
        }
        if (with_bytes_) {
            shapes_.push_back({none, none, chunks_.instance(c).bytes});
        }
    }

    const Chunks& chunks_;
    bool with_bytes_;
    std::vector<PhaseShape> shapes_;
    u64 planned_ = 0;   // how the last was
};

}  // namespace yantra
