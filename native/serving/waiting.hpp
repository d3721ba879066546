// WaitReasons: for how long the first that waits was held by what, for each that waited behind it,
// as sums since the beginning.
#pragma once

#include "serving/ledger.hpp"

namespace yantra::serving {

class WaitReasons {
public:
    explicit WaitReasons(Ledger& ledger) : ledger_(ledger) {}

    void arrives(RequestId request, Time now) { fresh_.push_back({request, now}); }
    void plans(Time now) {
        passed_[static_cast<std::size_t>(behind_)] += now - since_;
        since_ = now;
        for (const auto& [request, arrival] : fresh_) {
            ledger_.waited(request, Obstacle::iteration, now - arrival);
            for (std::size_t at = 0; at < obstacle_count; ++at) {
                ledger_.waited(request, static_cast<Obstacle>(at), -passed_[at]);
            }
        }
        fresh_.clear();
    }
    void starts(RequestId request) {
        for (std::size_t at = 0; at < obstacle_count; ++at) {
            ledger_.waited(request, static_cast<Obstacle>(at), passed_[at]);
        }
    }
    void stops(Obstacle behind) { behind_ = behind; }

private:
    struct Fresh {
        RequestId request;
        Time arrival;
    };

    Ledger& ledger_;
    Obstacles passed_{};
    Obstacle behind_ = Obstacle::iteration;
    Time since_ = 0;
    std::vector<Fresh> fresh_;
};

}  // namespace yantra::serving
