// Served: what a fleet did, as columns.
#pragma once

#include "serving/fleet.hpp"

namespace yantra::serving {

// Times in ps; -1: never.
struct Served {
    std::vector<i64> row;      // in a stream, in the order in which they ended
    std::vector<i64> prompt;
    std::vector<i64> output;
    std::vector<i64> arrival;
    std::vector<i64> start;
    std::vector<i64> first_token;
    std::vector<i64> second_token;
    std::vector<i64> moved;
    std::vector<i64> finish;
    std::vector<i64> restarts;
    std::vector<i64> emissions;
    std::vector<i64> cached;
    std::vector<i64> recomputed;
    std::vector<i64> target;
    std::vector<i64> spent;    // by request and phase
    std::vector<i64> behind;   // by request and obstacle
    std::vector<i64> gap_first;
    std::vector<i64> gap_growth;
    std::vector<i64> gap_count;
    std::vector<i64> gap_sequences;
    std::vector<i64> log_begin;
    std::vector<i64> log_end;
    std::vector<i64> log_target;
    std::vector<i64> log_first;   // of its items; one more than iterations
    std::vector<i64> item_request;
    std::vector<i64> item_tokens;
    std::vector<i64> item_context;
    std::vector<i64> item_decodes;   // 1, or 0 for a piece of a prompt
    std::vector<i64> sample_time;
    std::vector<i64> sample_replica;
    std::vector<i64> sample_waiting;
    std::vector<i64> sample_running;
    std::vector<i64> sample_kv_tokens;
    std::vector<i64> sample_batch_tokens;
    std::vector<i64> replica_iterations;
    std::vector<i64> replica_worked;
    std::vector<i64> replica_up;
    std::vector<double> replica_operations;   // of a device
    std::vector<double> replica_heavy_ns;
    i64 end = 0;
    u64 tokens = 0;
    u64 emitted = 0;
    u64 evicted = 0;
    u64 finished = 0;
};

Served served_of(Fleet& fleet);
// What ended since the last time.
Served served_of(Fleet& fleet, Stream& stream);

}  // namespace yantra::serving
