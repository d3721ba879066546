// Carrier: brings KV from one engine to another. A single line, first come first served.
#pragma once

#include <algorithm>
#include <deque>

#include "serving/ids.hpp"

namespace yantra::serving {

struct Move {
    RequestId request;
    TargetId from;
    TargetId to;
    u64 bytes;
};

class Carrier {
public:
    Carrier() = default;
    Carrier(const Carrier&) = delete;
    Carrier& operator=(const Carrier&) = delete;
    virtual ~Carrier() = default;

    virtual void takes(const Move& move, Time now) = 0;
    // When the next that is under way has come, if nothing else is taken; `end_of_time` if none is.
    virtual Time next() const = 0;
    // The first that has come by `next()`.
    virtual Move gives() = 0;
};

class Line final : public Carrier {
public:
    // A move takes latency + ceil(bytes / bytes_per_ns) ns after the one before it.
    Line(Time latency, double bytes_per_ns) : latency_(latency), bytes_per_ns_(bytes_per_ns) {}

    void takes(const Move& move, Time now) override {
        const double ns = static_cast<double>(move.bytes) / bytes_per_ns_;
        const auto whole = static_cast<Time>(ns);
        const Time carry = (whole + (static_cast<double>(whole) < ns ? 1 : 0)) * ps_per_ns;
        is_free_ = std::max(is_free_, now) + latency_ + carry;
        under_way_.push_back({move, is_free_});
    }
    Time next() const override { return under_way_.empty() ? end_of_time : under_way_.front().arrival; }
    Move gives() override {
        const Move move = under_way_.front().move;
        under_way_.pop_front();
        return move;
    }

private:
    struct Under {
        Move move;
        Time arrival;
    };

    Time latency_;
    double bytes_per_ns_;
    Time is_free_ = 0;
    std::deque<Under> under_way_;
};

}  // namespace yantra::serving
