// Scaling: when a pool takes a replica more, and when it gives one back.
//
// One more is asked for when, at an arrival, more than `most_waiting` requests wait for each replica
// that is up or on its way; it is up `delay` later. One that had nothing to do for `idle` goes, as
// long as `least` stay. (The queue-length rule of Kubernetes' and Ray Serve's autoscalers.)
#pragma once

#include "serving/asked/ids.hpp"

namespace yantra::serving {

struct Scaling {
    double most_waiting = 0.0;   // 0: no scaling
    Time delay = 0;
    Time idle = end_of_time;
    u32 least = 1;

    bool is_on() const { return most_waiting > 0.0; }
    bool asks_for_more(u64 waiting, u32 up, u32 on_the_way) const {
        return static_cast<double>(waiting) > most_waiting * (up + on_the_way);
    }
};

}  // namespace yantra::serving
