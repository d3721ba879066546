// Arrivals: which request comes next, those that follow others, and those that wait outside.
#pragma once

#include <compare>
#include <deque>
#include <functional>
#include <queue>
#include <vector>

#include "serving/asked/requests.hpp"

namespace yantra::serving {

class Arrivals {
public:
    // At most `most` are under way at once, others wait at their senders; 0: no bound.
    Arrivals(const Requests& requests, u64 most);

    // `end_of_time` if no more come by themselves.
    Time next() const;
    // Those that wait outside join the ones that have come by now.
    void come(Time now);
    // One that may begin, in order; none if all are outside or nobody is there.
    RequestId take();
    // Its followers come when they may.
    void ended(RequestId request, Time now);

private:
    struct Later {
        Time time;
        RequestId request;
        friend auto operator<=>(const Later&, const Later&) = default;
    };

    RequestId next_by(Time now);

    const Requests& requests_;
    u64 most_;
    u32 next_ = 0;
    Vector<RequestId> in_order_;     // those that follow nobody
    std::priority_queue<Later, std::vector<Later>, std::greater<>> later_;
    std::deque<RequestId> outside_;
    u64 under_way_ = 0;
    Vector<u32> followers_begin_;    // of a request, those after it
    Vector<RequestId> followers_;
};

}  // namespace yantra::serving
