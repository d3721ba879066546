// WaitReasons: for how long the first that waits was held by what, for each request that waited behind it.
//
// Sums since the beginning, so a request costs two readings and a plan one addition.
#pragma once

#include "serving/ledger.hpp"

namespace yantra::serving {

class WaitReasons {
public:
    explicit WaitReasons(Ledger& ledger) : ledger_(ledger) {}

    // Until the next plan it waits for the iteration that is under way.
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
    // At a plan, for the first time.
    void starts(RequestId request) {
        for (std::size_t at = 0; at < obstacle_count; ++at) {
            ledger_.waited(request, static_cast<Obstacle>(at), passed_[at]);
        }
    }
    // What held the first that still waits after a plan.
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
    Vector<Fresh> fresh_;
};

}  // namespace yantra::serving
