// Workload: the jobs of all ranks, the slots that their nodes share, and when ranks begin and are slow.
#pragma once

#include <memory>
#include <vector>

#include "workload/job.hpp"
#include "workload/rank_rules.hpp"
#include "workload/slow_spells.hpp"

namespace yantra {

struct Workload {
    ResourceMap resources;
    std::vector<std::shared_ptr<const Job>> distinct_jobs;
    std::vector<std::shared_ptr<const RankRules>> rules;   // by job; null unless it is a template's
    std::vector<u32> job_of;            // by rank, into the distinct ones
    std::vector<SlowSpell> slow_spells;  // by rank, then by time; those of a rank do not overlap

    std::vector<u64> begins;             // ticks by rank; empty: all at 0

    const Job& job(u32 rank) const { return *distinct_jobs[job_of[rank]]; }
    u32 communicator_at(u32 rank, u32 name) const {
        const RankRules* const of = rules[job_of[rank]].get();
        return of == nullptr || name == 0 ? name : of->communicators[name - 1].of(rank);
    }
    u32 peer_at(u32 rank, u32 name) const {
        const RankRules* const of = rules[job_of[rank]].get();
        return of == nullptr ? name : of->peers[name].of(rank);
    }
};

}  // namespace yantra
