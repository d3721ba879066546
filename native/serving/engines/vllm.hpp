// What an engine of vLLM is told: seats, tokens of an iteration, policy and tiers of KV.
#pragma once

#include "base/types.hpp"
#include "serving/asked/ids.hpp"

namespace yantra::serving::vllm {

// A tier below the device's memory.
struct Below {
    u32 blocks = 0;
    Time per_block = 0;   // to read one
};

struct KvOptions {
    u32 blocks;
    u32 block_size;
    bool is_cached;
};

enum class WaitPolicy : u8 { fcfs, priority, fair };

struct Settings {
    u32 max_num_seqs;
    u32 max_num_batched_tokens;
    u32 long_prefill_token_threshold;   // 0: none
    u32 drafts;
    bool is_chunked;
    WaitPolicy policy;
    u32 adapters;   // that an iteration may have
    double input_weight;    // of a token, for fairness
    double output_weight;
    Below host;
    Below disk;
    Time pool_per_block;   // 0: none
};

}  // namespace yantra::serving::vllm
