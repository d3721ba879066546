// Gate: what lets in so many at a time, a slot or a queue. Who gets in waits for one that left, once
// the places that were free from the start are taken. Of recorded runs alone.
#pragma once

#ifdef YANTRA_RECORDED

#include "record/recorder.hpp"

namespace yantra::recorded {

struct Gate {
    MomentList freed;      // ends of those that left and whose place nobody took
    u64 taken = 0;         // places, of those that were free from the start

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
