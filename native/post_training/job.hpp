// Job: groups of samples, how they are generated, rewarded and trained. All times are whole ticks.
#pragma once

#include <memory>
#include <string>

#include "base/ids.hpp"
#include "post_training/law.hpp"
#include "serving/cost.hpp"

namespace yantra::post_training {

using GroupId = Id<struct PromptGroupTag>;
using SampleId = Id<struct SampleTag>;   // samples of a group follow each other, groups too

// A sample of several turns leaves its seat behind each but the last, while a tool works, and reads
// what that says.
struct Turns {
    IdVector<SampleId, u32> begin;   // the first turn of each, and one more; empty: each has one
    std::vector<u32> output;         // tokens
    std::vector<Time> delay;         // of the tool behind it
    std::vector<u32> added;          // tokens that the tool says
};

struct Groups {
    IdVector<GroupId, u32> prompt;    // tokens
    IdVector<GroupId, u32> begin;     // its first sample, and one more
    IdVector<GroupId, u8> filtered;   // thrown away when its last reward is known
    IdVector<SampleId, u32> output;   // tokens
    IdVector<SampleId, Time> reward;
    Turns turns;

    u32 size() const { return static_cast<u32>(prompt.size()); }
    SampleId first(GroupId group) const { return SampleId(begin[group]); }
    SampleId last(GroupId group) const { return SampleId(begin[GroupId(group.index() + 1)]); }   // behind it
    u32 turns_of(SampleId sample) const {
        return turns.begin.empty() ? 1 : turns.begin[SampleId(sample.index() + 1)] - turns.begin[sample];
    }
    u32 turn_output(SampleId sample, u32 turn) const {
        return turns.begin.empty() ? output[sample] : turns.output[turns.begin[sample] + turn];
    }
    // Of prompt, output and tools.
    u64 tokens(GroupId group, SampleId sample) const {
        u64 sum = u64{prompt[group]} + output[sample];
        for (u32 turn = 0; turn + 1 < turns_of(sample); ++turn) {
            sum += turns.added[turns.begin[sample] + turn];
        }
        return sum;
    }
};

enum class Routing : u8 { shared, round_robin, least };
enum class RefitRule : u8 { drain, pause, in_flight };

// What a replica can hold and do at once; 0 is no bound.
struct Limits {
    u32 seats = 1;
    u64 kv_tokens = 0;          // that fit its memory
    u32 iteration_tokens = 0;   // prompts are cut into pieces for it
    bool shares_prompts = false;   // samples of a group, while one of them has a seat
};

struct Job {
    Groups groups;
    std::shared_ptr<const serving::Cost> iteration;
    std::string feed;   // by which rule groups are submitted
    bool is_colocated = false;
    bool is_partial = false;   // running samples stop for a step and go on behind it
    bool takes_submitted = true;   // trains in the order of submission, else of acceptance
    bool in_rounds = false;   // groups are submitted by the whole step when all are resolved
    bool loses_kv = false;    // by a refit
    bool reward_overlap = true;
    RefitRule refit_rule = RefitRule::drain;
    Routing routing = Routing::shared;
    u32 replicas = 1;
    Limits limits;
    u32 steps = 1;
    u32 groups_per_step = 1;
    u32 groups_per_minibatch = 1;
    u32 ahead = 0;            // steps by which batches may be
    u32 staleness = 0;
    u32 max_concurrent = none;
    u32 max_age = none;
    u32 in_flight_groups = none;
    u32 reward_servers = none;
    std::shared_ptr<const PhaseLaw> logp;
    std::shared_ptr<const PhaseLaw> ref;
    std::shared_ptr<const PhaseLaw> train;
    Time refit = 0;
    Time switching = 0;

    bool stops_for_refit() const { return !is_colocated && !is_partial && refit_rule != RefitRule::in_flight; }
};

}  // namespace yantra::post_training
