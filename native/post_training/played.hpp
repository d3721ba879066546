// Played: what a job did, in columns; -1 is what had not come by the end.
#pragma once

#include <vector>

#include "post_training/loop.hpp"

namespace yantra::post_training {

struct Played {
    bool is_starved = false;   // nothing could go on before the last step's end
    Time end = 0;
    StepColumns steps;
    std::vector<i64> group;    // by sample, with its number in it
    std::vector<i64> number;
    SampleColumns samples;
    std::vector<i64> piece_begin;   // by sample, and one more
    std::vector<i64> piece_version;
    std::vector<i64> piece_tokens;
    std::vector<i64> fate;     // by group
    GroupColumns groups;
    MinibatchColumns minibatches;
    std::vector<i64> replica_ticks;   // by replica and cause
    std::vector<i64> trainer_ticks;
    std::vector<double> operations;   // by replica
    std::vector<double> heavy_ns;
    std::vector<i64> preempted;
    u64 tokens = 0;
    u64 recomputed = 0;
};

Played play(const Job& job);

}  // namespace yantra::post_training
