// What a recorded run notes of collectives.
#pragma once

#include <map>
#include <utility>
#include <vector>

#include "collective/runtime/chunks.hpp"
#include "engine/rank_events.hpp"
#include "record/recorder.hpp"

namespace yantra::inline YANTRA_RUN {

#ifndef YANTRA_RECORDED

struct CollectivesProbe {
    explicit CollectivesProbe(Recorder&) {}
    void collective_starts(u32, u32, u64) {}
    void chunk_ends(u32, const Chunks&, u64) {}
    void phase_done(const RankEvent&, u64, u32) {}
    void time_begins(ChunkId, u32) {}
    void time_is_over(const RankEvent&, u64) {}
};

#else

class CollectivesProbe {
public:
    explicit CollectivesProbe(Recorder& recorder) : recorder_(recorder) {}

    // By the first chunk's number in the communicator class.
    void collective_starts(u32 place, u32 communicator_class, u64 first_chunk) {
        const auto number = static_cast<u32>(instances_.size());
        recorder_.recording().instance[place] =
            instances_.try_emplace({communicator_class, first_chunk}, number).first->second;
    }
    void chunk_ends(u32 instance, const Chunks& chunks, u64 now) {
        if (ended_.size() <= instance) {
            ended_.resize(instance + 1);
        }
        if (chunks.chunks_left(instance) > 1) {
            recorder_.push(ended_[instance], recorder_.now());
            return;
        }
        Recorder::Join join(recorder_, now, chunks.place_of(instance));
        join.apart();
        join.with_all(ended_[instance]);
    }
    void phase_done(const RankEvent& event, u64 now, u32 node) {
        recorder_.begin(now, event.trail.cause, Why::nothing, node, false);
    }
    // The last member has come, with the node at `place`.
    void time_begins(ChunkId member, u32 place) { last_[member.index()] = place; }
    void time_is_over(const RankEvent& event, u64 now) {
        recorder_.begin(now, event.trail.cause, Why::timed, last_[event.a], false);
    }

private:
    Recorder& recorder_;
    std::map<std::pair<u32, u64>, u32> instances_;
    std::vector<MomentList> ended_;   // by instance
    std::map<u32, u32> last_;         // by chunk: the node of the member that came last
};

#endif

}  // namespace yantra
