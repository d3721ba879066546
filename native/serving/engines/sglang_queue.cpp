// The orders of SGLang's policies.
#include "serving/engines/sglang_queue.hpp"

#include <algorithm>
#include <unordered_map>
#include <utility>

namespace yantra::serving {

sglang::Policy SglangQueue::policy_now() const {
    const sglang::Policy policy = policy_;
    const bool needs_tree = policy == sglang::Policy::lpm || policy == sglang::Policy::dfs_weight ||
                            policy == sglang::Policy::hrrn || policy == sglang::Policy::shortest_prefill_first;
    const bool is_bounded = policy == sglang::Policy::lpm || policy == sglang::Policy::hrrn;
    const bool is_off = (needs_tree && !kv_.is_cached()) || (is_bounded && waiting_.size() > sglang::most_looked_up);
    return is_off ? sglang::Policy::fcfs : policy;
}

void SglangQueue::orders(const std::vector<RequestId>& running) {
    works_.clear();
    if (waiting_.empty()) {
        return;
    }
    const sglang::Policy policy = policy_now();
    if (policy == sglang::Policy::lof) {
        sort_by_limit();
    } else if (policy == sglang::Policy::routing_key) {
        sort_by_user(running);
    } else if (policy != sglang::Policy::fcfs) {
        return sort_by_tree(policy);
    }
    if (kv_.is_cached() && refreshes_++ % sglang::refresh_every == 0) {   // the first of the queue is used last
        for (std::size_t at = std::min<std::size_t>(waiting_.size(), sglang::most_looked_up); at-- > 0;) {
            kv_.look_up(waiting_[at], known_tokens(waiting_[at]));
        }
    }
}

void SglangQueue::sort_by_limit() {
    std::stable_sort(waiting_.begin(), waiting_.end(),
                     [this](RequestId a, RequestId b) { return limit(a) > limit(b); });
}

// By how many of a user run.
void SglangQueue::sort_by_user(const std::vector<RequestId>& running) {
    std::unordered_map<u32, u64> run;
    for (const RequestId request : running) {
        ++run[requests_.user[request]];
    }
    if (run.empty()) {
        return;
    }
    std::stable_sort(waiting_.begin(), waiting_.end(), [&](RequestId a, RequestId b) {
        const u32 user_a = requests_.user[a];
        const u32 user_b = requests_.user[b];
        const auto of_a = run.find(user_a);
        const auto of_b = run.find(user_b);
        const u64 run_a = of_a == run.end() ? 0 : of_a->second;
        const u64 run_b = of_b == run.end() ? 0 : of_b->second;
        return run_a != run_b ? run_a > run_b : user_a < user_b;
    });
}

// Of those that begin alike and are not known, all but one are behind.
std::vector<sglang::Waiting> SglangQueue::looked_up() {
    std::vector<sglang::Waiting> all;
    beginnings_.clear();
    for (const RequestId request : waiting_) {
        const u32 known = known_tokens(request);
        const RadixTree::Path path = kv_.look_up(request, known);
        bool is_behind = false;
        if (path.tokens <= sglang::few_found && known >= sglang::few_found) {
            const u64 beginning = requests_.chained(0, request, 0, sglang::few_found);
            is_behind = beginnings_.find(beginning) != nullptr;
            if (!is_behind) {
                beginnings_.add(beginning, true);
            }
        }
        all.push_back({request, known, std::min(path.tokens, known - 1), path.end, is_behind});
    }
    return all;
}

// Highest response ratio next: tokens that steps read while it waited, by those that it has to read.
double SglangQueue::ratio_of(const sglang::Waiting& one) const {
    constexpr double most = std::numeric_limits<double>::infinity();
    const u32 prompt = requests_.prompt[one.request];
    if (one.is_behind) {
        return -most;
    }
    return prompt <= one.found ? most
                               : static_cast<double>(read_ - states_[one.request].read) /
                                     static_cast<double>(prompt - one.found);
}

void SglangQueue::sort_by_tree(sglang::Policy policy) {
    std::vector<sglang::Waiting> all = looked_up();
    const auto sort_by = [&](const auto& goes_before) { std::stable_sort(all.begin(), all.end(), goes_before); };
    using Waiting = sglang::Waiting;
    if (policy == sglang::Policy::lpm) {
        sort_by([](const Waiting& a, const Waiting& b) {
            return a.is_behind != b.is_behind ? b.is_behind : !a.is_behind && a.found > b.found;
        });
    } else if (policy == sglang::Policy::hrrn) {
        sort_by([this](const Waiting& a, const Waiting& b) {
            const double of_a = ratio_of(a);
            const double of_b = ratio_of(b);
            return of_a != of_b ? of_a > of_b : requests_.order(a.request) < requests_.order(b.request);   // SGLang: by their random names
        });
    } else if (policy == sglang::Policy::shortest_prefill_first) {
        sort_by([this](const Waiting& a, const Waiting& b) {
            if (a.is_behind != b.is_behind || a.work() != b.work()) {
                return a.is_behind != b.is_behind ? b.is_behind : a.work() < b.work();
            }
            return states_[a.request].entered < states_[b.request].entered;
        });
    } else {
        order_by_weight(all);
    }
    for (std::size_t at = 0; at < all.size(); ++at) {
        waiting_[at] = all[at].request;
        works_.push_back(all[at].work());
    }
}

void SglangQueue::order_by_weight(std::vector<sglang::Waiting>& all) const {
    std::vector<RadixId> ends;
    for (const sglang::Waiting& one : all) {
        ends.push_back(one.end);
    }
    std::vector<sglang::Waiting> ordered;
    for (const u32 place : kv_.by_weight(ends)) {
        ordered.push_back(all[place]);
    }
    all = std::move(ordered);
}

std::vector<RequestId> SglangQueue::drops_all() {
    std::vector<RequestId> all(waiting_.begin(), waiting_.end());
    waiting_.clear();
    fresh_.clear();
    return all;
}

i64 SglangQueue::chunk_beside_shorter(u32 rest, i64 chunk) const {
    const i64 page = kv_.page();
    if (policy_ != sglang::Policy::shortest_prefill_first || chunk < 2 * page) {
        return std::numeric_limits<i64>::max();
    }
    i64 reserved = 0;
    for (const u32 work : works_) {
        if (work >= rest || reserved + kv_.up(work) > chunk - page) {
            break;
        }
        reserved += kv_.up(work);
    }
    return reserved == 0 ? std::numeric_limits<i64>::max() : (chunk - reserved) / page * page;
}

}  // namespace yantra::serving
