// JobArrivals: jobs that begin later in a run.
#pragma once

#include <vector>

#include "engine/component.hpp"
#include "engine/engine.hpp"
#include "engine/timers.hpp"
#include "execution/executor.hpp"

namespace yantra::inline YANTRA_RUN {

class JobArrivals final : public Component {
public:
    JobArrivals(Engine& engine, Executor& executor) : engine_(engine), executor_(executor) {}

    // The next of the executor's.
    void expect(u32 arrival, u64 tick) {
        timers_of_.push_back(timers_.set(arrival));
        engine_.queue.schedule(tick, {Owner::arrivals, 0}, timers_of_.back());
    }
    // Whether it had not begun.
    bool withdraw(u32 arrival) { return timers_.stop(timers_of_[arrival]); }

    void handle(const Event& event) override {
        if (const std::optional<u32> arrival = timers_.expire(event.index)) {
            timers_of_[*arrival] = none;
            executor_.begin(*arrival);
        }
    }

private:
    Engine& engine_;
    Executor& executor_;
    Timers<u32> timers_;          // of arrivals
    std::vector<u32> timers_of_;       // by arrival; none once it has begun or was withdrawn
};

}  // namespace yantra
