// What a recorded run notes of messages that share links.
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
    template <class Group>
    void keeps(u32, u32, const Group&) {}
    void stand_for(const std::vector<u32>*) {}
    LinkSeries* shared(u32) { return nullptr; }
    void sent_by_nobody(u32) {}
    void takes(u64) {}
    void carried(u32, u32, u64, u64, u64) {}
    static constexpr bool keeps_spans = false;
    u32 recorded(u32) const { return none; }
    void span(const LinkSpan&) {}
};

#else

class WaysProbe : public OutsideProbe {
public:
    explicit WaysProbe(Recorder& recorder) : OutsideProbe(recorder), recorder_(recorder) {}

    template <class Group>
    void keeps(u32 links, u32 groups, const Group& group) {
        Recording& recording = recorder_.recording();
        recording.by_span = true;
        recording.span_groups = groups;
        recording.span_group.resize(links);
        for (u32 link = 0; link < links; ++link) {
            recording.span_group[link] = group(link);
        }
    }
    LinkSeries* shared(u32 links) {
        recorder_.recording().series = LinkSeries(links);
        return &recorder_.recording().series;
    }
    // Where one of each class is kept; or null.
    void stand_for(const std::vector<u32>* class_of) {
        if (class_of != nullptr) {
            recorder_.recording().link_class = *class_of;
        }
    }
    void sent_by_nobody(u32 number) { forget(number); }
    void takes(u64 ticks) {
        std::vector<u64>& latency = recorder_.recording().way_latency;
        latency.resize(std::max<std::size_t>(latency.size(), recorder_.trail.detail + std::size_t{1}));
        latency[recorder_.trail.detail] = ticks;
    }
    static constexpr bool keeps_spans = true;
    // Its permanent number in the recording.
    u32 recorded(u32 message) const { return number_of(message); }
    void span(const LinkSpan& span) { recorder_.recording().spans.push_back(span); }
    void carried(u32 message, u32 link, u64 start, u64 end, u64 bytes) {
        recorder_.recording().spans.push_back({start, end, bytes, link, number_of(message)});
    }

private:
    Recorder& recorder_;
};

#endif

}  // namespace yantra
