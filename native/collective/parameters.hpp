// CollectiveParameters: what collectives do, among whom, and how ranks run them.
#pragma once

#include <algorithm>
#include <numeric>
#include <vector>

#include "collective/communicator.hpp"
#include "collective/custom.hpp"
#include "collective/plan.hpp"
#include "collective/program.hpp"
#include "memory/shared_bus_parameters.hpp"

namespace yantra {

enum class Priority : u8 { lifo, fifo, given };
enum class InterDimension : u8 { ascending, round_robin, themis, themis_flex };
enum class IntraDimension : u8 { fifo, rg, smallest_first, less_remaining_phase_first };

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
    double shared_bytes_per_s = 0.0; // of kernels, reductions and copies together; 0: not shared
    double units_of_collectives = 0.0;          // share of a rank's that its collectives take
    double units_of_all_to_alls = -1.0;         // the same of all-to-alls; below 0: as all others
    double bytes_per_s_of_collectives = 0.0;    // of the shared ones
    bool takes_units_alone = false;  // nothing shares `shared_bytes_per_s`
    bool rendezvous = false;
    bool custom_work_takes_no_time = false;   // what if: of collectives given by traces
    SharedBusParameters bus;
};

struct CollectiveParameters {
    SystemParameters system;
    u32 dimensions = 0;         // of the network
    std::vector<Program> programs;
    std::vector<Plan> plans;
    std::vector<GroupLayout> layouts;
    std::vector<Communicator> communicators;   // the first is all ranks
    std::vector<u32> queue_sets;     // by communicator: those that share one share their queues
    std::vector<CustomCollective> custom;
    bool match_by_tag = false;       // tags of different communicators may collide

    const GroupLayout& layout_of(u32 communicator) const {
        return layouts[communicators[communicator].layout];
    }
    bool is_member(u32 rank, u32 communicator) const {
        const Communicator& at = communicators[communicator];
        return rank >= at.base && layouts[at.layout].shape->place(rank - at.base) != none;
    }
};

// `involved`: dimensions as bits.
inline bool involves_some(const CollectiveParameters& parameters, u64 involved) {
    const u64 all = ~u64{0} >> (64 - std::min(parameters.dimensions, 64u));
    return (involved & all) != all;
}

inline u32 chunks_of(const Plan& plan, const SystemParameters& system) {
    return plan.chunks != 0 ? plan.chunks : system.chunks;
}

inline u32 lanes_before(const Plan& plan, u32 stage) {
    u32 lanes = 0;
    for (u32 at = 0; at < plan.levels.size() && at < stage; ++at) {
        lanes += plan.levels[at].lanes;
    }
    return lanes;
}

inline u32 queues_per_set(const CollectiveParameters& parameters) {
    std::size_t most = std::size_t{parameters.dimensions};
    for (const Plan& plan : parameters.plans) {
        if (plan.in_stages) {
            most = std::max(most, std::size_t{lanes_before(plan, ~u32{0})});
            continue;
        }
        for (const Level& level : plan.levels) {
            most = std::max(most, std::size_t{parameters.dimensions} * level.lanes);
        }
    }
    return static_cast<u32>(most) * parameters.system.queues_per_dimension;
}

// The period, in chunks, of queues, programs, lanes and level orders.
inline u64 turns_of_chunks(const CollectiveParameters& parameters) {
    u64 turns = 2 * u64{parameters.system.queues_per_dimension};
    const bool rotates = parameters.system.inter_dimension == InterDimension::round_robin;
    for (const Plan& plan : parameters.plans) {
        if (rotates && plan.shared_load && !plan.levels.empty()) {
            turns = std::lcm(turns, u64{plan.levels.size()});
        }
        for (const Level& level : plan.levels) {
            turns = std::lcm(turns, u64{level.lanes});
        }
    }
    return turns;
}

Place place_on(const CollectiveParameters& parameters, const Plan& plan, u32 level, u32 communicator, u32 rank);

}  // namespace yantra
