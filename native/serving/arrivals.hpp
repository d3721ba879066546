// Arrivals: which request comes next, and those that wait outside.
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
    // At most `most` are under way at once; 0: no bound.
    Arrivals(const Requests& requests, u64 most);

    // `end_of_time` if none.
    Time next() const;
    void come(Time now);
    void comes(RequestId request) { outside_.push_back(request); }
    // None if all are outside or nobody is there.
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
    std::vector<RequestId> in_order_;     // those that follow nobody
    std::priority_queue<Later, std::vector<Later>, std::greater<>> later_;
    std::deque<RequestId> outside_;
    u64 under_way_ = 0;
    std::vector<u32> followers_begin_;    // of a request, those after it
    std::vector<RequestId> followers_;
};

}  // namespace yantra::serving
