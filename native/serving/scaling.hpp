// Scaling: a replica more when, at an arrival, more than `most_waiting` wait for each that is up or
// on its way, after `delay`; one idle for `idle` goes, as long as `least` stay (the queue-length
// rule of Kubernetes and Ray Serve).
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
