#include "serving/arrivals.hpp"

#include <algorithm>

namespace yantra::serving {

Arrivals::Arrivals(const Requests& requests, u64 most)
    : requests_(requests), most_(most == 0 ? ~u64{0} : most), followers_begin_(requests.size() + 1) {
    if (requests.is_stream()) {
        return;   // they come one by one, and follow nobody
    }
    for (u32 at = 0; at < requests.size(); ++at) {
        const RequestId after = requests.after[RequestId(at)];
        if (after.is_none()) {
            in_order_.push_back(RequestId(at));
        } else {
            ++followers_begin_[after.index() + 1];
        }
    }
    for (std::size_t at = 1; at < followers_begin_.size(); ++at) {
        followers_begin_[at] += followers_begin_[at - 1];
    }
    followers_.resize(followers_begin_.back());
    std::vector<u32> next = followers_begin_;
    for (u32 at = 0; at < requests.size(); ++at) {
        if (const RequestId after = requests.after[RequestId(at)]; !after.is_none()) {
            followers_[next[after.index()]++] = RequestId(at);
        }
    }
    std::stable_sort(in_order_.begin(), in_order_.end(),
                     [&](RequestId a, RequestId b) { return requests.arrival[a] < requests.arrival[b]; });
}

Time Arrivals::next() const {
    const Time own = next_ < in_order_.size() ? requests_.arrival[in_order_[next_]] : end_of_time;
    return later_.empty() ? own : std::min(own, later_.top().time);
}

void Arrivals::come(Time now) {
    for (RequestId request = next_by(now); !request.is_none(); request = next_by(now)) {
        outside_.push_back(request);
    }
}

RequestId Arrivals::take() {
    if (outside_.empty() || under_way_ >= most_) {
        return RequestId::none;
    }
    const RequestId request = outside_.front();
    outside_.pop_front();
    ++under_way_;
    return request;
}

void Arrivals::ended(RequestId request, Time now) {
    --under_way_;
    for (u32 at = followers_begin_[request.index()]; at < followers_begin_[request.index() + 1]; ++at) {
        const RequestId next = followers_[at];
        later_.push({std::max(requests_.arrival[next], now + requests_.delay[next]), next});
    }
}

RequestId Arrivals::next_by(Time now) {
    const bool has_own = next_ < in_order_.size() && requests_.arrival[in_order_[next_]] <= now;
    const bool has_later = !later_.empty() && later_.top().time <= now;
    if (has_own && (!has_later || Later{requests_.arrival[in_order_[next_]], in_order_[next_]} < later_.top())) {
        return in_order_[next_++];
    }
    if (has_later) {
        const RequestId request = later_.top().request;
        later_.pop();
        return request;
    }
    return RequestId::none;
}

}  // namespace yantra::serving
