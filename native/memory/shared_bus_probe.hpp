// What a recorded run notes of packets on a shared bus.
#pragma once

#include <vector>

#include "base/ids.hpp"
#include "engine/rank_events.hpp"
#include "record/recorder.hpp"

namespace yantra::inline YANTRA_RUN {

#ifndef YANTRA_RECORDED

struct SharedBusProbe {
    explicit SharedBusProbe(Recorder&) {}
    void keeps(u32) {}
    void starts(ActorId, u32, u32) {}
    void sent(ActorId, const RankEvent&, u64) {}
    void received(const RankEvent&, u64, u32) {}
    void processed(const RankEvent&, u64, u32) {}
};

#else

class SharedBusProbe {
public:
    explicit SharedBusProbe(Recorder& recorder) : recorder_(recorder) {}

    void keeps(u32 actors) { sends_.assign(std::size_t{actors} * 4, none); }
    void starts(ActorId actor, u32 port, u32 node) { sends_[actor.index() * 4 + port] = node; }
    void sent(ActorId actor, const RankEvent& event, u64 now) {
        begin(event, now, Why::hand_over, sends_[actor.index() * 4 + event.a]);
    }
    void received(const RankEvent& event, u64 now, u32 node) { begin(event, now, Why::hand_over, node); }
    void processed(const RankEvent& event, u64 now, u32 node) { begin(event, now, Why::reduction, node); }

private:
    void begin(const RankEvent& event, u64 now, Why why, u32 node) {
        recorder_.begin(now, event.trail.cause, why, node, false);
    }

    Recorder& recorder_;
    std::vector<u32> sends_;   // by actor and port: the node of what it sent last
};

#endif

}  // namespace yantra
