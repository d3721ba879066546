// Rewards: samples that are finished wait for a server, first come first served.
#pragma once

#include <deque>
#include <functional>
#include <queue>
#include <utility>
#include <vector>

#include "post_training/job.hpp"

namespace yantra::post_training {

class Rewards {
public:
    explicit Rewards(const Job& job) : job_(&job) {}

    void queue(SampleId sample) { waiting_.push_back(sample); }
    bool is_any_in_service() const { return !in_service_.empty(); }
    Time next() const { return in_service_.empty() ? end_of_time : in_service_.top().first; }

    // Those of `now` end, and others start if they may; samples that are rewarded are added. False
    // if nothing happens.
    bool turn(Time now, bool may_start, std::vector<SampleId>& rewarded) {
        bool is_any = false;
        for (bool goes_on = true; goes_on;) {
            goes_on = false;
            for (; next() == now; goes_on = true) {
                rewarded.push_back(in_service_.top().second);
                in_service_.pop();
            }
            for (; may_start && !waiting_.empty() && in_service_.size() < job_->reward_servers; goes_on = true) {
                const SampleId sample = waiting_.front();
                waiting_.pop_front();
                in_service_.push({now + job_->groups.reward[sample], sample});
            }
            is_any = is_any || goes_on;
        }
        return is_any;
    }

private:
    using Ending = std::pair<Time, SampleId>;

    const Job* job_;
    std::deque<SampleId> waiting_;
    std::priority_queue<Ending, std::vector<Ending>, std::greater<>> in_service_;
};

}  // namespace yantra::post_training
