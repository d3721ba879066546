// Carrier: brings KV from one engine to another. With layers sent one by one, only what
// `least_left` says must follow the prompt's end.
#pragma once

#include <algorithm>
#include <deque>

#include "serving/asked/ids.hpp"

namespace yantra::serving {

struct Move {
    RequestId request;
    TargetId from;
    TargetId to;
    u64 bytes;
    Time head_start = 0;
    double least_left = 1.0;   // share of the bytes
};

class Carrier {
public:
    Carrier() = default;
    Carrier(const Carrier&) = delete;
    Carrier& operator=(const Carrier&) = delete;
    virtual ~Carrier() = default;

    virtual void takes(const Move& move, Time now) = 0;
    // `end_of_time` if nothing is under way.
    virtual Time next() = 0;
    // False if none has.
    virtual bool gives(Time now, Move& into) = 0;
};

class Line final : public Carrier {
public:
    // latency + ceil(bytes / bytes_per_ns) ns after the one before it.
    Line(Time latency, double bytes_per_ns) : latency_(latency), bytes_per_ns_(bytes_per_ns) {}

    void takes(const Move& move, Time now) override {
        const auto bytes = static_cast<double>(move.bytes);
        const Time begun = std::max(is_free_, now - move.head_start);
        is_free_ = std::max(begun + latency_ + time_of(bytes), now + latency_ + time_of(bytes * move.least_left));
        under_way_.push_back({move, is_free_});
    }
    Time next() override { return under_way_.empty() ? end_of_time : under_way_.front().arrival; }
    bool gives(Time now, Move& into) override {
        if (next() > now) {
            return false;
        }
        into = under_way_.front().move;
        under_way_.pop_front();
        return true;
    }

private:
    struct Under {
        Move move;
        Time arrival;
    };

    Time time_of(double bytes) const {
        const double ns = bytes / bytes_per_ns_;
        const auto whole = static_cast<Time>(ns);
        return (whole + (static_cast<double>(whole) < ns ? 1 : 0)) * ps_per_ns;
    }

    Time latency_;
    double bytes_per_ns_;
    Time is_free_ = 0;
    std::deque<Under> under_way_;
};

}  // namespace yantra::serving
