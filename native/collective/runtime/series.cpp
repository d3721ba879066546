#include "collective/runtime/series.hpp"

#include <algorithm>
#include <vector>

#include "base/ensure.hpp"

namespace yantra {

bool Series::plan(const CollectiveRequest& request, const Plan& plan, u64& after) {
    u64& made = planner_.chunks_made(request.actor, request.communicator);
    const u64 before = made;
    const u32 queue_set = parameters_.queue_sets[request.communicator];
    const Of of{&plan, request.bytes, request.involved, queue_set, request.kind};
    if (of == of_) {   // most often that of another rank
        after = before + phases_.size();
        return true;
    }
    phases_.clear();
    const bool does_something = planner_.cut(request, plan, [&](const std::vector<Phase>& phases) {
        ensure(phases.size() == 1, "several phases on one level");
        phases_.push_back(phases.front());
        ++made;
    });
    after = made;
    made = before;
    are_exchanges_ = std::all_of(phases_.begin(), phases_.end(),
                                       [this](const Phase& phase) { return is_exchange(phase); });
    of_ = does_something && planner_.cuts_alike(request.kind, plan) ? of : Of{};
    return does_something;
}

const Series::Known* Series::known(const CollectiveRequest& request, u32 plan) const {
    if (known_.size() <= request.actor.index()) {
        return nullptr;
    }
    for (const Known& series : known_[request.actor.index()]) {
        if (series.bytes == request.bytes && series.communicator == request.communicator &&
            series.plan == plan && series.kind == request.kind &&
            series.involved == request.involved) {
            return &series;
        }
    }
    return nullptr;
}

void Series::remember(const CollectiveRequest& request, u32 plan, const std::vector<u64>& more) {
    if (known_.empty()) {
        known_.resize(actors_);
    }
    std::vector<Known>& known = known_[request.actor.index()];
    if (known.size() < most_known && parameters_.plans[plan].levels.front().alternation == none) {
        known.push_back({request.bytes, request.involved, plan, request.communicator, request.kind,
                         phases_.front(), more});
    }
}

}  // namespace yantra
