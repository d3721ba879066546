// What a recorded run notes of messages that wait for links.
#pragma once

#include <utility>
#include <vector>

#include "engine/event.hpp"
#include "record/recorder.hpp"

namespace yantra::inline YANTRA_RUN {

#ifndef YANTRA_RECORDED

struct StoreAndForwardProbe {
    explicit StoreAndForwardProbe(Recorder&) {}
    void keeps(const std::vector<u32>&, std::size_t) {}
    void stand_for(const std::vector<u32>&, std::vector<u32>) {}
    void accepted(u32) {}
    void offered(u32) {}
    void begins_to_cross(u32, u32) {}
    void crosses_at_once(u32) {}
    void freed(u32) {}
    void hop_done(const Event&) {}
    void link_free(const Event&) {}
};

#else

class StoreAndForwardProbe {
public:
    explicit StoreAndForwardProbe(Recorder& recorder) : recorder_(recorder) {}

    void keeps(std::vector<u32> first_of_dimensions, std::size_t links) {
        recorder_.recording().by_hop = true;
        recorder_.recording().first_link = std::move(first_of_dimensions);
        freed_.assign(links, none);
    }
    void stand_for(const std::vector<u32>& class_of, std::vector<u32> one_of_class) {
        recorder_.recording().link_class = class_of;
        one_of_class_ = std::move(one_of_class);
    }

    void accepted(u32 transit) {
        if (transits_.size() <= transit) {
            transits_.resize(transit + 1);
        }
        transits_[transit].message = recorder_.trail.detail;
    }
    void offered(u32 transit) { transits_[transit].offered = recorder_.now(); }
    void begins_to_cross(u32 link, u32 transit) {
        const OfTransit& of = transits_[transit];
        const bool waited = of.offered != recorder_.now();
        recorder_.hop(of.message, number_of(link), waited ? of.offered : freed_[link]);
    }
    void crosses_at_once(u32 link) { recorder_.hop(recorder_.trail.detail, number_of(link), freed_[link]); }
    void freed(u32 link) { freed_[link] = recorder_.now(); }

    void hop_done(const Event& event) {
        recorder_.begin(event.time, event.trail.cause, Why::carried, event.trail.detail, false);
    }
    void link_free(const Event& event) {
        recorder_.begin(event.time, event.trail.cause, Why::link, event.trail.detail, false);
    }

private:
    struct OfTransit {
        u32 message = none;
        u32 offered = none;      // when it came to the link it waits for
    };
    u32 number_of(u32 link) const { return one_of_class_.empty() ? link : one_of_class_[link]; }

    Recorder& recorder_;
    std::vector<OfTransit> transits_;
    std::vector<u32> freed_;     // by link: when it was last freed
    std::vector<u32> one_of_class_;
};

#endif

}  // namespace yantra
