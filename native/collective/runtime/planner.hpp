// Planner: a chunk's phases, their order and queues (astra-sim-semantics 4).
#pragma once

#include <algorithm>
#include <map>
#include <vector>

#include "base/ids.hpp"
#include "base/variant.hpp"
#include "collective/cut.hpp"
#include "collective/parameters.hpp"
#include "collective/phase_input.hpp"
#include "collective/plan.hpp"
#include "collective/runtime/chunks.hpp"
#include "collective/themis.hpp"
#include "engine/actors.hpp"
#include "engine/semantics.hpp"
#include "fabric/grid.hpp"

namespace yantra::inline YANTRA_RUN {

struct CollectiveRequest {
    CollectiveKind kind = CollectiveKind::all_reduce;
    u32 communicator = 0;
    u64 bytes = 0;
    u64 involved = ~u64{0};   // dimensions, as bits
    i64 priority = 0;         // where the workload gives priorities
    u32 custom = none;        // collective given by traces, of this node alone
    ActorId actor;
    NodeId node;
    u32 place = none;         // of the node among those of all actors
    Completion then;
};

class Planner {
public:
    struct RoundRobin {
        u32 any = 0;
        u32 first = 0;
        u32 last = 0;
    };
    // Levels over the same members count as one.
    struct AlternationCount {
        u32 counter;
        u32 base;
        u32 count;
    };
    struct OfActor {
        std::vector<RoundRobin> robin;         // by dimension
        std::vector<u64> chunks;               // made so far, by communicator class
        std::vector<AlternationCount> alternations;
        u32 rotation = 0;                      // of the round-robin inter-dimension scheduler
    };
    struct State {
        IdVector<ActorId, OfActor> actors;
    };

    Planner(const CollectiveParameters& parameters, const Semantics& semantics, const Grid& grid, const Actors& actors);

    void collective_starts(ActorId actor, u32 communicator, const Plan& plan, u64 now);
    template <class Make>
    bool cut(const CollectiveRequest& request, const Plan& plan, Make&& make);

    bool cuts_alike(CollectiveKind kind, const Plan& plan) const;

    u64 planned() const { return plans_; }

    // Ranks entered different collectives, and one decided for all.
    bool overdrawn() const { return overdrawn_; }

    u64& chunks_made(ActorId actor, u32 communicator) {
        return state_.actors[actor].chunks[actors_.communicator_class(actor, communicator)];
    }
    Place place_on(const Plan& plan, u32 level, u32 communicator, ActorId actor) const {
        return yantra::place_on(parameters_, plan, level, communicator, actors_.rank(actor).index());
    }
    PhaseInput input_of(const Phase& phase, ActorId actor, u32 plan_index, u32 communicator) const;
    // The actor's number in the communicator.
    u32 member_of(u32 plan_index, u32 communicator, ActorId actor) const;

    State& state() { return state_; }
    const State& state() const { return state_; }

private:
    enum class Half : u8 { any, first, last };
    struct Member {
        ActorId actor;
        u32 communicator;
        const Plan& plan;
    };
    bool is_balanced(const CollectiveRequest& request, const Plan& plan, const Cut& cut) const;
    u64 take_balanced(const CollectiveRequest& request, const Plan& plan, Cut& cut);
    Themis& themis_of(const Plan& plan, u32 communicator);
    u32 turns_before(const CollectiveRequest& request, u32 levels);
    // Whatever their number.
    bool chunks_are_alike(const Plan& plan) const {
        return parameters_.system.queues_per_dimension == 1 && !rotates(plan) &&
               std::all_of(plan.levels.begin(), plan.levels.end(), [](const Level& level) {
                   return level.alternation == none && level.lanes == 1;
               });
    }
    bool balances() const {
        const InterDimension order = parameters_.system.inter_dimension;
        return order == InterDimension::themis || order == InterDimension::themis_flex;
    }
    bool rotates(const Plan& plan) const {
        return parameters_.system.inter_dimension == InterDimension::round_robin && plan.shared_load;
    }
    void order_levels(const CollectiveRequest& request, const Plan& plan);
    void plan_phases(const CollectiveRequest& request, const Plan& plan, u64 data, bool balanced);
    void add_phase(const Member& member, u32 level, CollectiveKind kind, Half half, u64& data);
    bool takes_alternate(const Member& member, const Level& level);
    u64 next_alternation(const Member& member, const Level& level);
    void leave_out_phases(const Member& member, CollectiveKind kind);
    void choose_queue_by_half(ActorId actor, u32 dimension, Half half, Phase& phase);
    void choose_queue_by_chunk(const Member& member, Half half, Phase& phase);

    const CollectiveParameters& parameters_;
    const Semantics& semantics_;
    const Grid& grid_;
    const Actors& actors_;
    u32 queues_per_set_;
    std::map<u32, Themis> themis_;   // by communicator; empty under another order
    State state_;
    bool overdrawn_ = false;
    // Of the chunk being planned.
    u64 plans_ = 0;               // how many were
    std::vector<Phase> phases_;
    std::vector<u32> order_;      // its levels
    std::vector<u32> usable_;     // those of them that take part
};

// Upstream gives all chunks one size, at least one byte per rank of the system, and rounds their
// number up; without the quirk they add up to the collective's size.
template <class Make>
bool Planner::cut(const CollectiveRequest& request, const Plan& plan, Make&& make) {
    const u64 splits = chunks_of(plan, parameters_.system);
    Cut cut = cut_of(request.kind, request.bytes, splits, semantics_.quirks.padded_chunks,
                     grid_.ranks());
    overdrawn_ = false;
    if (plan.levels.empty() || cut.pieces == 0) {   // a group of one rank, or no bytes
        return false;
    }
    const bool balanced = is_balanced(request, plan, cut);
    const bool are_alike = !balanced && chunks_are_alike(plan);
    u64 own = ~u64{0};   // of plans_, what was planned here: making a chunk may cut another collective
    u64 planned = 0;     // its bytes
    const u64 each = cut.left / cut.pieces;
    const u64 larger = cut.left % cut.pieces;   // pieces, of a byte more
    for (u64 piece = 0; balanced ? cut.left > 0 : piece < cut.pieces; ++piece) {
        u64 data = cut.chunk;
        if (balanced) {
            data = take_balanced(request, plan, cut);
        } else if (!semantics_.quirks.padded_chunks) {
            data = each + (piece < larger ? 1 : 0);
        }
        if (!are_alike || own != plans_ || data != planned) {
            if (!balanced) {
                order_levels(request, plan);
            }
            plan_phases(request, plan, data, balanced);
            own = plans_;
            planned = data;
        }
        make(phases_);
    }
    return true;
}

}  // namespace yantra
