// What a recorded run notes of messages that share links: who sent each, how long an empty one would take, and
// when its bytes held which links. Whoever sent a message is the cause of its arrival, whatever slowed it down.
#pragma once

#include <algorithm>
#include <vector>

#include "engine/event.hpp"
#include "network/outside_probe.hpp"
#include "record/recorder.hpp"

namespace yantra::inline YANTRA_RUN {

#ifndef YANTRA_RECORDED

struct WaysProbe : OutsideProbe {
    using OutsideProbe::OutsideProbe;
    void keeps(u32, u32) {}
    void stand_for(const std::vector<u32>*) {}
    void takes(u64) {}
    void carried(u32, u32, u64, u64, u64) {}
};

#else

class WaysProbe : public OutsideProbe {
public:
    explicit WaysProbe(Recorder& recorder) : OutsideProbe(recorder), recorder_(recorder) {}

    // So many links, in groups.
    void keeps(u32 links, u32 groups) {
        recorder_.recording().by_span = true;
        recorder_.recording().span_links = links;
        recorder_.recording().span_groups = groups;
    }
    // The class of every link, where one of each class is kept; or null.
    void stand_for(const std::vector<u32>* class_of) {
        if (class_of != nullptr) {
            recorder_.recording().link_class = *class_of;
        }
    }
    // The latency of the way of the message that is sent now.
    void takes(u64 ticks) {
        std::vector<u64>& latency = recorder_.recording().way_latency;
        latency.resize(std::max<std::size_t>(latency.size(), recorder_.trail.detail + std::size_t{1}));
        latency[recorder_.trail.detail] = ticks;
    }
    void carried(u32 link, u32 group, u64 start, u64 end, u64 bytes) {
        recorder_.recording().spans.push_back({start, end, bytes, link, group});
    }

private:
    Recorder& recorder_;
};

#endif

}  // namespace yantra
