// Gate: admits a limited number, in recorded runs; whoever enters beyond waits for one that left.
#pragma once

#ifdef YANTRA_RECORDED

#include "record/recorder.hpp"

namespace yantra::recorded {

struct Gate {
    MomentList freed;      // ends of those that left, whose places are untaken
    u64 taken = 0;         // of the places free from the start

    void pass(Recorder& recorder, Recorder::Join& join, u64 capacity) {
        if (taken < capacity) {
            ++taken;
        } else {
            join.with(recorder.pop(freed));
        }
    }
};

}  // namespace yantra::recorded

#endif
