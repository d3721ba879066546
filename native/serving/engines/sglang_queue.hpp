// SglangQueue: who waits for SGLang's engine, in the order of its policy (schedule_policy.py,
// 0.5.23). The counter behind `hrrn` grows as SGLang's does: also with each decode, by what its
// batch read as it began.
#pragma once

#include <algorithm>
#include <deque>
#include <limits>
#include <vector>

#include "serving/engine.hpp"
#include "serving/kv/radix.hpp"

namespace yantra::serving {

namespace sglang {

inline constexpr u32 most_looked_up = 128;      // waiting requests, of which more are not sorted
inline constexpr u32 refresh_every = 32;        // passes
inline constexpr u32 few_found = 32;            // tokens; so many in common with one that waits are enough to wait

enum class Policy : u8 { fcfs, lpm, lof, dfs_weight, hrrn, shortest_prefill_first, routing_key };

// A request that waits, as the tree knows it.
struct Waiting {
    RequestId request;
    u32 known;         // tokens
    u32 found;         // of them in the tree, at most all but one
    RadixId end;       // of its path there
    bool is_behind;    // one that begins alike goes first

    u32 work() const { return std::max(known - found, 1U); }
};

}  // namespace sglang

class SglangQueue {
public:
    SglangQueue(const Requests& requests, const Sequences& sequences, RadixKv& kv, sglang::Policy policy)
        : requests_(requests), sequences_(sequences), kv_(kv), policy_(policy), states_(requests.size()) {}

    bool empty() const { return waiting_.empty(); }
    std::size_t size() const { return waiting_.size(); }
    RequestId operator[](std::size_t at) const { return waiting_[at]; }

    void adds(RequestId request) {
        waiting_.push_back(request);
        fresh_.push_back(request);
    }
    void adds_now(RequestId request) {
        waiting_.push_back(request);
        enters(request);
    }
    // Those that came are there.
    void plans() {
        for (const RequestId request : fresh_) {
            enters(request);
        }
        fresh_.clear();
    }
    void drops_first() { waiting_.pop_front(); }
    std::vector<RequestId> drops_all();
    void reads(u64 tokens) { read_ += tokens; }
    void orders(const std::vector<RequestId>& running);
    // Of a prompt of which `rest` tokens are left, if shorter ones fit into the step behind it.
    i64 chunk_beside_shorter(u32 rest, i64 chunk) const;
    u32 limit(RequestId request) const { return std::max(requests_.limit[request], requests_.output[request]); }

private:
    struct State {
        u64 entered = 0;     // as a number in order
        u64 read = 0;        // tokens of prompts that steps had read then
    };

    void enters(RequestId request) { states_[request] = {++entries_, read_}; }
    u32 known_tokens(RequestId request) const { return requests_.prompt[request] + sequences_[request].emitted; }
    sglang::Policy policy_now() const;
    std::vector<sglang::Waiting> looked_up();
    void sort_by_tree(sglang::Policy policy);
    void sort_by_limit();
    void sort_by_user(const std::vector<RequestId>& running);
    void order_by_weight(std::vector<sglang::Waiting>& all) const;
    double ratio_of(const sglang::Waiting& one) const;

    const Requests& requests_;
    const Sequences& sequences_;
    RadixKv& kv_;
    sglang::Policy policy_;
    IdVector<RequestId, State> states_;
    std::deque<RequestId> waiting_;
    std::vector<RequestId> fresh_;     // came after the last plan
    std::vector<u32> works_;           // tokens to read of those that wait, in their order
    u64 entries_ = 0;
    u64 read_ = 0;                     // tokens of prompts, by all steps
    u32 refreshes_ = 0;
    NumberMap<bool> beginnings_;
};

}  // namespace yantra::serving
