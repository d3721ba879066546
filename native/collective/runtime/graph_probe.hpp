// What a recorded run notes of graph phases.
#pragma once

#include <vector>

#include "base/ids.hpp"
#include "engine/rank_events.hpp"
#include "record/recorder.hpp"

namespace yantra::inline YANTRA_RUN {

#ifndef YANTRA_RECORDED

struct GraphProbe {
    explicit GraphProbe(Recorder&) {}
    void starts(ChunkId, std::size_t) {}
    void handed_over(const RankEvent&, u64, u32) {}
    void reduced(const RankEvent&, u64, u32) {}
    void nothing_done(const RankEvent&, u64, u32) {}
    void posts(u32) {}
    void frees(ChunkId, u32) {}
    void op_ready(ChunkId, u32, u32, u64) {}
    void last_op_ends(ChunkId) {}
    void phase_ends(ChunkId, u32, u64) {}
};

#else

class GraphProbe {
public:
    explicit GraphProbe(Recorder& recorder) : recorder_(recorder) {}

    void starts(ChunkId chunk, std::size_t ops) {
        if (chunks_.size() <= chunk.index()) {
            chunks_.resize(chunk.index() + 1);
        }
        chunks_[chunk.index()].waiting.assign(ops, {});
    }
    void handed_over(const RankEvent& event, u64 now, u32 node) {
        recorder_.begin(now, event.trail.cause, Why::hand_over, node, false);
    }
    void reduced(const RankEvent& event, u64 now, u32 node) {
        recorder_.begin(now, event.trail.cause, Why::reduction, node, false);
    }
    void nothing_done(const RankEvent& event, u64 now, u32 node) {
        recorder_.begin(now, event.trail.cause, Why::nothing, node, false);
    }
    void posts(u32 node) { recorder_.owner = node; }
    void frees(ChunkId chunk, u32 op) {
        recorder_.push(chunks_[chunk.index()].waiting[op], recorder_.now());
    }
    void op_ready(ChunkId chunk, u32 op, u32 node, u64 now) {
        Recorder::Join(recorder_, now, node).with_all(chunks_[chunk.index()].waiting[op]);
    }
    void last_op_ends(ChunkId chunk) { recorder_.push(chunks_[chunk.index()].done, recorder_.now()); }
    void phase_ends(ChunkId chunk, u32 node, u64 now) {
        Recorder::Join(recorder_, now, node).with_all(chunks_[chunk.index()].done);
    }

private:
    struct OfChunk {
        std::vector<MomentList> waiting;   // by operation
        MomentList done;
    };
    Recorder& recorder_;
    std::vector<OfChunk> chunks_;
};

#endif

}  // namespace yantra
