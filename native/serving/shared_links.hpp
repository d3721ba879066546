// SharedLinks: KV that moves shares links, at max-min fair rates (network/flow). Trade-off: of a
// head start only the time counts, at the rate that the move would have alone.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <queue>
#include <span>
#include <unordered_map>

#include "network/flow/sharing.hpp"
#include "serving/carrier.hpp"

namespace yantra::serving {

// From first[a * targets + b] on.
struct Ways {
    u32 targets = 0;
    std::vector<u32> first;   // one more than pairs
    std::vector<u32> links;
    std::vector<double> bytes_per_ns;   // by link
    std::vector<double> latency_ns;

    std::span<const u32> of(TargetId from, TargetId to) const {
        const u32 pair = from.index() * targets + to.index();
        return {links.data() + first[pair], first[pair + 1] - first[pair]};
    }
};

class SharedLinks final : public Carrier {
public:
    explicit SharedLinks(Ways ways) : ways_(std::move(ways)), sharing_(ways_.bytes_per_ns) {}

    void takes(const Move& move, Time now) override {
        const auto way = ways_.of(move.from, move.to);
        const double now_ns = static_cast<double>(now) / ps_per_ns;
        const auto bytes = static_cast<double>(move.bytes);
        double alone = std::numeric_limits<double>::infinity();
        double latency = 0.0;
        for (const u32 link : way) {
            alone = std::min(alone, ways_.bytes_per_ns[link]);
            latency += ways_.latency_ns[link];
        }
        const double ahead = static_cast<double>(move.head_start) / ps_per_ns * alone;
        const double left = std::max(bytes * move.least_left, bytes - ahead);
        if (way.empty() || left < 1.0) {
            arrives(move, now_ns + latency);
            return;
        }
        const u32 flow = sharing_.start(class_of(move, way), left, now_ns);
        if (moves_.size() <= flow) {
            moves_.resize(flow + 1);
        }
        moves_[flow] = {move, latency};
    }
    Time next() override {
        const double end = sharing_.next_end_ns();
        const Time flow = std::isfinite(end) ? at(end) : end_of_time;
        return arrived_.empty() ? flow : std::min(flow, arrived_.top().time);
    }
    bool gives(Time now, Move& into) override {
        for (double end = sharing_.next_end_ns(); std::isfinite(end) && at(end) <= now; end = sharing_.next_end_ns()) {
            ended_.clear();
            sharing_.end_next(ended_);
            for (const u32 flow : ended_) {
                arrives(moves_[flow].move, end + moves_[flow].latency_ns);
            }
        }
        if (arrived_.empty() || arrived_.top().time > now) {
            return false;
        }
        into = arrived_.top().move;
        arrived_.pop();
        return true;
    }

private:
    struct Under {
        Move move;
        double latency_ns;
    };
    struct Arrived {
        Time time;
        u64 number;
        Move move;
        bool operator<(const Arrived& other) const {   // the first is on top
            return time != other.time ? time > other.time : number > other.number;
        }
    };

    void arrives(const Move& move, double ns) { arrived_.push({at(ns), ++number_, move}); }
    static Time at(double ns) { return static_cast<Time>(std::ceil(ns * ps_per_ns)); }
    u32 class_of(const Move& move, std::span<const u32> way) {
        const u64 pair = u64{move.from.index()} * ways_.targets + move.to.index();
        const auto [found, is_new] = classes_.try_emplace(pair, 0);
        if (is_new) {
            found->second = sharing_.add_class(way);
        }
        return found->second;
    }

    Ways ways_;
    FlowSharing sharing_;
    std::unordered_map<u64, u32> classes_;
    std::vector<Under> moves_;   // by flow
    std::vector<u32> ended_;
    std::priority_queue<Arrived> arrived_;
    u64 number_ = 0;
};

}  // namespace yantra::serving
