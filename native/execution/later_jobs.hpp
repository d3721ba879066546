// LaterJobs: jobs that come during a run, and when they began and ended.
#pragma once

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "base/ids.hpp"
#include "base/never.hpp"
#include "engine/engine.hpp"
#include "workload/job.hpp"

namespace yantra::inline YANTRA_RUN {

class LaterJobs {
public:
    using Jobs = std::vector<std::pair<ActorId, std::shared_ptr<const Job>>>;
    struct Arrival {
        Jobs jobs;
        u64 nodes_left = 0;
        u64 begun = never;
        u64 ended = never;
        std::vector<u32> first_place;   // by job
    };

    explicit LaterJobs(Engine& engine) : engine_(engine) {}

    u32 accept(Jobs jobs) {
        Arrival made;
        for (const auto& [actor, job] : jobs) {
            made.nodes_left += job->graph->size();
        }
        made.jobs = std::move(jobs);
        arrivals_.push_back(std::move(made));
        return static_cast<u32>(arrivals_.size() - 1);
    }
    Arrival& operator[](u32 arrival) { return arrivals_[arrival]; }
    const Arrival& operator[](u32 arrival) const { return arrivals_[arrival]; }

    // Pauses the engine where it is the last.
    void node_ends(u32 arrival) {
        if (arrival != none) [[unlikely]] {
            --arrivals_[arrival].nodes_left;
            end_if_done(arrival);
        }
    }
    [[gnu::noinline]] void end_if_done(u32 arrival) {
        if (arrivals_[arrival].nodes_left == 0) {
            arrivals_[arrival].ended = engine_.now();
            ended_.push_back(arrival);
            engine_.pause();
        }
    }
    bool have_ended() const {
        return std::all_of(arrivals_.begin(), arrivals_.end(),
                           [](const Arrival& arrival) { return arrival.ended != never; });
    }
    std::vector<u32> take_ended() { return std::exchange(ended_, {}); }

private:
    Engine& engine_;
    std::vector<Arrival> arrivals_;
    std::vector<u32> ended_;
};

}  // namespace yantra
