// What a recorded run notes of chunks in queues.
#pragma once

#include <vector>

#include "base/ids.hpp"
#include "record/gate.hpp"
#include "record/recorder.hpp"

namespace yantra::inline YANTRA_RUN {

#ifndef YANTRA_RECORDED

struct QueueProbe {
    explicit QueueProbe(Recorder&) {}
    void keeps(u32, u32, u32) {}
    void enters(ChunkId) {}
    void place_free(ActorId, u32) {}
    void starts(ActorId, u32, ChunkId, u64, u32) {}
};

#else

class QueueProbe {
public:
    explicit QueueProbe(Recorder& recorder) : recorder_(recorder) {}

    void keeps(u32 actors, u32 queues, u32 most_running) {
        queues_ = queues;
        gates_.resize(std::size_t{actors} * queues);
        most_running_ = most_running;
    }
    void enters(ChunkId chunk) {
        if (entered_.size() <= chunk.index()) {
            entered_.resize(chunk.index() + 1, none);
        }
        entered_[chunk.index()] = recorder_.now();
    }
    void place_free(ActorId actor, u32 queue) {
        recorder_.push(gate(actor, queue).freed, recorder_.now());
    }
    void starts(ActorId actor, u32 queue, ChunkId chunk, u64 now, u32 place) {
        QueueGate& of = gate(actor, queue);
        Recorder::Join join(recorder_, now, place);
        join.with(entered_[chunk.index()]);
        join.with(of.last);
        of.pass(recorder_, join, most_running_);
        of.last = recorder_.now();
    }

private:
    struct QueueGate : Gate {
        u32 last = none;   // when the last one got in
    };
    QueueGate& gate(ActorId actor, u32 queue) {
        return gates_[std::size_t{actor.index()} * queues_ + queue];
    }

    Recorder& recorder_;
    u32 queues_ = 0;
    u32 most_running_ = 0;
    std::vector<QueueGate> gates_;   // by actor and queue
    std::vector<u32> entered_;       // by chunk
};

#endif

}  // namespace yantra
