// Series: successive one-phase chunks, planned once for all collectives that are cut alike.
#pragma once

#include <vector>

#include "collective/parameters.hpp"
#include "collective/runtime/planner.hpp"

namespace yantra::inline YANTRA_RUN {

class Series {
public:
    struct Known {
        u64 bytes = 0;
        u64 involved = 0;
        u32 plan = none;
        u32 communicator = none;
        CollectiveKind kind = CollectiveKind::all_reduce;
        Phase phase;
        std::vector<u64> more;   // bytes of the chunks behind the first
    };

    Series(const CollectiveParameters& parameters, Planner& planner, u32 actors)
        : parameters_(parameters), planner_(planner), actors_(actors) {}

    // `after`: the chunk count once they are made.
    bool plan(const CollectiveRequest& request, const Plan& plan, u64& after);
    // As planned last.
    const std::vector<Phase>& phases() const { return phases_; }
    bool are_exchanges() const { return are_exchanges_; }
    template <class Holds>
    bool are_alike(const CollectiveRequest& request, u32 plan, Holds&& holds) const;

    const Known* known(const CollectiveRequest& request, u32 plan) const;
    void remember(const CollectiveRequest& request, u32 plan, const std::vector<u64>& more);

private:
    struct Of {
        const Plan* plan = nullptr;
        u64 bytes = 0;
        u64 involved = 0;
        u32 queue_set = 0;
        CollectiveKind kind = CollectiveKind::all_reduce;
        bool operator==(const Of&) const = default;
    };
    static constexpr std::size_t most_known = 8;   // of an actor: a step has a few kinds of them

    bool is_exchange(const Phase& phase) const {
        return !phase.idle &&
               std::holds_alternative<ExchangeProgram>(parameters_.programs[phase.program].machine);
    }

    const CollectiveParameters& parameters_;
    Planner& planner_;
    u32 actors_;
    std::vector<Phase> phases_;
    Of of_;   // where the next equal collective finds them
    bool are_exchanges_ = false;
    std::vector<std::vector<Known>> known_;   // by actor
};

template <class Holds>
bool Series::are_alike(const CollectiveRequest& request, u32 plan, Holds&& holds) const {
    const Phase& first = phases_.front();
    u64 asked = ~first.data;
    for (const Phase& phase : phases_) {
        const bool is_alike = phase.program == first.program && phase.queue == first.queue &&
                              phase.clockwise == first.clockwise && is_exchange(phase);
        if (!is_alike) {
            return false;
        }
        if (phase.data != asked) {
            asked = phase.data;
            if (!holds(planner_.input_of(phase, request.actor, plan, request.communicator))) {
                return false;
            }
        }
    }
    return true;
}

}  // namespace yantra
