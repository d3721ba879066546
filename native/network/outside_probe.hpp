// What a recorded run notes of messages on a network from outside: the sender causes the arrival.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "engine/event.hpp"
#include "record/recorder.hpp"

namespace yantra::inline YANTRA_RUN {

#ifndef YANTRA_RECORDED

struct OutsideProbe {
    explicit OutsideProbe(Recorder&) {}
    void sent(u32) {}
    void arrives(u32) {}
    void arrival_scheduled() {}
};

#else

class OutsideProbe {
public:
    explicit OutsideProbe(Recorder& recorder) : recorder_(recorder) {}

    void sent(u32 message) {
        if (sender_.size() <= message) {
            sender_.resize(message + 1);
        }
        sender_[message] = recorder_.trail;
    }
    void arrives(u32 message) { present_ = std::exchange(recorder_.trail, sender_[message]); }
    void arrival_scheduled() { recorder_.trail = present_; }

protected:
    u32 number_of(u32 message) const { return sender_[message].detail; }
    void forget(u32 message) {
        sender_.resize(std::max<std::size_t>(sender_.size(), message + std::size_t{1}));
        sender_[message] = {};
    }

private:
    Recorder& recorder_;
    Trail present_;
    std::vector<Trail> sender_;   // by message
};

#endif

}  // namespace yantra
