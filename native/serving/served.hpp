// Served: what a fleet did, as columns.
#pragma once

#include "serving/fleet.hpp"

namespace yantra::serving {

// Times in ps; -1: never.
struct Served {
    Vector<i64> arrival;
    Vector<i64> start;
    Vector<i64> first_token;
    Vector<i64> second_token;
    Vector<i64> moved;
    Vector<i64> finish;
    Vector<i64> restarts;
    Vector<i64> emissions;
    Vector<i64> cached;
    Vector<i64> recomputed;
    Vector<i64> target;
    Vector<i64> spent;    // by request and phase
    Vector<i64> behind;   // by request and obstacle
    Vector<i64> gap_first;
    Vector<i64> gap_growth;
    Vector<i64> gap_count;
    Vector<i64> gap_sequences;
    Vector<i64> log_begin;
    Vector<i64> log_end;
    Vector<i64> log_target;
    Vector<i64> log_first;   // of its items; one more than iterations
    Vector<i64> item_request;
    Vector<i64> item_tokens;
    Vector<i64> item_context;
    Vector<i64> item_decodes;   // 1, or 0 for a piece of a prompt
    Vector<i64> sample_time;
    Vector<i64> sample_replica;
    Vector<i64> sample_waiting;
    Vector<i64> sample_running;
    Vector<i64> sample_kv_tokens;
    Vector<i64> sample_batch_tokens;
    Vector<i64> replica_iterations;
    Vector<i64> replica_worked;
    Vector<i64> replica_up;
    Vector<double> replica_operations;   // of a device
    Vector<double> replica_heavy_ns;
    i64 end = 0;
    u64 tokens = 0;
    u64 emitted = 0;
    u64 evicted = 0;
    u64 finished = 0;
};

Served served_of(const Fleet& fleet);

}  // namespace yantra::serving
