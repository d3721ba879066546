// What a recorded run notes of shared memories.
#pragma once

#include <vector>

#include "engine/rank_events.hpp"
#include "record/recorder.hpp"

namespace yantra::inline YANTRA_RUN {

#ifndef YANTRA_RECORDED

struct MemoryProbe {
    explicit MemoryProbe(Recorder&) {}
    void serves(u32, u32, u64) {}
    void server_free(const RankEvent&, u64) {}
    void begins(u32) {}
};

#else

class MemoryProbe {
public:
    explicit MemoryProbe(Recorder& recorder) : recorder_(recorder) {}

    void serves(u32 server, u32 place, u64 now) {
        if (servers_.size() <= server) {
            servers_.resize(server + 1);
        }
        OfServer& of = servers_[server];
        Recorder::Join join(recorder_, now, place);
        join.with(recorder_.recording().issued[place]);
        join.with(of.freed);
        of.serves = place;
    }
    void server_free(const RankEvent& event, u64 now) {
        OfServer& of = servers_[event.a];
        recorder_.begin(now, event.trail.cause, Why::server, of.serves, false);
        of.freed = recorder_.now();
    }
    void begins(u32 place) { recorder_.trail.cause = recorder_.recording().issued[place]; }

private:
    struct OfServer {
        u32 freed = none;
        u32 serves = none;
    };
    Recorder& recorder_;
    std::vector<OfServer> servers_;
};

#endif

}  // namespace yantra
