// Model: everything a run reads and never writes. Any number of runs may share one.
//
// A ModelBuilder makes it; from then on it is const, and whoever holds it sees the same numbers for ever.
#pragma once

#include <algorithm>
#include <array>
#include <memory>
#include <numeric>
#include <optional>
#include <vector>

#include "base/clock.hpp"
#include "base/vector.hpp"
#include "collective/communicator.hpp"
#include "collective/custom.hpp"
#include "collective/plan.hpp"
#include "collective/program.hpp"
#include "memory/remote.hpp"
#include "memory/shared_bus_parameters.hpp"
#include "model/network_choice.hpp"
#include "model/slow_spells.hpp"
#include "fabric/graph.hpp"
#include "fabric/grid.hpp"
#include "fabric/routing/routing.hpp"
#include "workload/job.hpp"
#include "workload/rank_rules.hpp"

namespace yantra {

enum class Priority : u8 { lifo, fifo, given };
enum class InterDimension : u8 { ascending, round_robin, themis, themis_flex };
enum class IntraDimension : u8 { fifo, rg, smallest_first, less_remaining_phase_first };

// Oddities of upstream that act during a run; the reference page docs/concepts/quirks.md has one
// line for each.
struct Quirks {
    bool padded_chunks = false;
    bool half_queues = false;
    bool send_completes_on_arrival = false;
    bool lowest_dimension_only = false;
    bool links_carry_anything = false;
    bool sizes_of_32_bits = false;
    bool bus_charges_reduction_twice = false;
    bool hash_order_custom = false;
    bool phases_as_ready = false;
    bool no_duration_takes_a_nanosecond = false;
    bool mismatched_collectives_meet = false;
    bool whole_microseconds = false;
    bool collectives_start_together = false;
};

struct SystemParameters {
    Priority priority = Priority::lifo;
    InterDimension inter_dimension = InterDimension::ascending;
    IntraDimension intra_dimension = IntraDimension::fifo;
    bool local_bw_aware = true;      // all-reduce as reduce-scatter, all-reduce, all-gather
    u32 chunks = 1;
    u32 active_chunks = 1;
    u32 queues_per_dimension = 1;
    u64 endpoint_delay = 0;          // ticks
    u64 group_hand_over = 0;         // ticks, of levels with `fixed_hand_over`
    u64 local_reduction_delay = 1;   // per 100 bytes, shared bus only
    double memory_bytes_per_s = 0.0;
    double shared_bytes_per_s = 0.0; // that kernels, reductions and copies share; 0: nobody shares
    double units_of_collectives = 0.0;          // share of a rank's that its collectives take
    double units_of_all_to_alls = -1.0;         // the same of all-to-alls; below 0: as all others
    double bytes_per_s_of_collectives = 0.0;    // of the shared ones
    bool rendezvous = false;
    bool custom_work_takes_no_time = false;   // what if: of collectives given by traces
    SharedBusParameters bus;
};

struct Model {
    TimeScale scale = TimeScale::truncated_nanoseconds();
    Quirks quirks;
    Vector<Dimension> dimensions;
    Vector<std::shared_ptr<const BlockTable>> tables;   // by dimension; null where none
    // The physical graph that messages cross, in place of the links of the dimensions; or null.
    std::shared_ptr<const FabricGraph> fabric;
    RoutingChoice routing;           // over the fabric
    Vector<u32> placement;      // by rank, then by switch that programs name: its device of the fabric
    Vector<LinkChange> link_changes;   // of the fabric, in order of time
    u64 reroute_delay = 0;           // ticks from a failure, or a return, until ways avoid or use the link
    // By dimension, or label of the fabric: whether its links are crossed by formula, shared with nobody; or empty.
    std::vector<bool> formula_groups;
    Vector<BackgroundFlow> background;  // in order of time
    Vector<SlowSpell> slow_spells;      // by rank, then by time; those of a rank do not overlap
    NetworkChoice network;
    SystemParameters system;
    RemoteMemory memory;
    ResourceMap resources;
    Vector<Program> programs;
    Vector<Plan> plans;
    Vector<GroupLayout> layouts;
    Vector<Communicator> communicators;   // the first is all ranks
    Vector<u32> queue_sets;     // by communicator: those that share one share their queues
    Vector<CustomCollective> custom;
    Vector<std::shared_ptr<const Job>> distinct_jobs;
    Vector<std::shared_ptr<const RankRules>> rules;   // by job; null unless it is a template's
    Vector<u32> job_of;         // by rank, into the distinct ones
    bool match_by_tag = false;       // tags of different communicators may collide

    u32 ranks() const {
        u32 product = 1;
        for (const Dimension& dimension : dimensions) {
            product *= dimension.size;
        }
        return product;
    }
    const Job& job(u32 rank) const { return *distinct_jobs[job_of[rank]]; }
    // What the operations of a rank name.
    u32 communicator_at(u32 rank, u32 name) const {
        const RankRules* const of = rules[job_of[rank]].get();
        return of == nullptr || name == 0 ? name : of->communicators[name - 1].of(rank);
    }
    u32 peer_at(u32 rank, u32 name) const {
        const RankRules* const of = rules[job_of[rank]].get();
        return of == nullptr ? name : of->peers[name].of(rank);
    }
    const GroupLayout& layout_of(u32 communicator) const {
        return layouts[communicators[communicator].layout];
    }
    bool is_member(u32 rank, u32 communicator) const {
        const Communicator& at = communicators[communicator];
        return rank >= at.base && layouts[at.layout].shape->place(rank - at.base) != none;
    }
};

// Whether a node leaves out a dimension; bits are dimensions.
inline bool involves_some(const Model& model, u64 involved) {
    const u64 all = ~u64{0} >> (64 - std::min<std::size_t>(model.dimensions.size(), 64));
    return (involved & all) != all;
}

// Into how many chunks a collective is cut.
inline u32 chunks_of(const Plan& plan, const SystemParameters& system) {
    return plan.chunks != 0 ? plan.chunks : system.chunks;
}

// The lanes of the stages of a plan that come before one.
inline u32 lanes_before(const Plan& plan, u32 stage) {
    u32 lanes = 0;
    for (u32 at = 0; at < plan.levels.size() && at < stage; ++at) {
        lanes += plan.levels[at].lanes;
    }
    return lanes;
}

// The queues of a communicator: those of each dimension, or of each stage, with as many lanes as a plan has at most.
inline u32 queues_per_set(const Model& model) {
    std::size_t most = model.dimensions.size();
    for (const Plan& plan : model.plans) {
        if (plan.in_stages) {
            most = std::max(most, std::size_t{lanes_before(plan, ~u32{0})});
            continue;
        }
        for (const Level& level : plan.levels) {
            most = std::max(most, model.dimensions.size() * level.lanes);
        }
    }
    return static_cast<u32>(most) * model.system.queues_per_dimension;
}

// After how many chunks of a communicator the next one is planned as the first was: queues, programs, lanes and
// orders of levels go by the number of the chunk.
inline u64 turns_of_chunks(const Model& model) {
    u64 turns = 2 * u64{model.system.queues_per_dimension};
    const bool rotates = model.system.inter_dimension == InterDimension::round_robin;
    for (const Plan& plan : model.plans) {
        if (rotates && plan.shared_load && !plan.levels.empty()) {
            turns = std::lcm(turns, u64{plan.levels.size()});
        }
        for (const Level& level : plan.levels) {
            turns = std::lcm(turns, u64{level.lanes});
        }
    }
    return turns;
}

// The place of a rank on a level of a plan of its communicator.
Place place_on(const Model& model, const Plan& plan, u32 level, u32 communicator, u32 rank);

// A rank that cannot run its job, a peer or a group being wrong for it, and why.
struct RankProblems {
    u32 rank = none;
    Vector<Problem> problems;
};

// The first such rank.
std::optional<RankProblems> check_ranks(const Model& model);

}  // namespace yantra
