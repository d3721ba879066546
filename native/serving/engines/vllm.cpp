// vLLM's V1 engine: one pass for prompts and decodes, those that run first, chunks that fill the rest.
//
// Rules of vLLM 0.33.0 (vllm/v1/core/sched/scheduler.py, kv_cache_manager.py), as are the golden
// schedules: running requests in order, then waiting ones unless somebody was preempted; without
// blocks the last that runs (by priority: the worst) begins anew and waits at the head. Beyond
// vLLM's policies, `fair` lets in the user who was served least (FairQueue).
#include <algorithm>
#include <deque>
#include <memory>

#include "serving/engine.hpp"
#include "serving/fair.hpp"
#include "serving/kv/paged.hpp"
#include "serving/waiting.hpp"

namespace yantra::serving {

namespace {

// A tier below the device's memory.
struct Below {
    u32 blocks = 0;
    Time per_block = 0;   // to read one
};

enum class WaitPolicy : u8 { fcfs, priority, fair };

struct Settings {
    u32 max_num_seqs;
    u32 max_num_batched_tokens;
    u32 long_prefill_token_threshold;   // 0: none
    u32 drafts;
    bool is_chunked;
    WaitPolicy policy;
    double input_weight;    // of a token, for fairness
    double output_weight;
    Below host;
    Below disk;
    Time pool_per_block;   // 0: none
};

class Vllm final : public Engine {
public:
    Vllm(const Place& place, const Settings& settings, u32 blocks, u32 block_size, bool is_cached)
        : Engine(place, {false, true}), settings_(settings), kv_(place.requests, blocks, block_size, is_cached),
          reasons_(place.ledger), fair_(settings.input_weight, settings.output_weight),
          host_(settings.host.blocks), disk_(settings.disk.blocks) {
        const auto add = [this](Tier& tier, const Below& below) {
            if (below.blocks > 0) {
                kv_.add_tier(&tier, below.per_block);
            }
        };
        add(host_, settings.host);
        add(disk_, settings.disk);
        if (settings.pool_per_block > 0) {
            kv_.add_tier(&place.pool, settings.pool_per_block);
        }
    }

    void accepts(RequestId request, Time now) override {
        sequences_[request].computed = sequences_[request].kept;
        wait(request, false);
        if (ledger_.entries()[request].phase == Phase::queued) {
            reasons_.arrives(request, now);
        }
    }

    void plans(Time now, Batch& batch) override {
        reasons_.plans(now);
        do {   // anew at once if the first that runs was the one to go
            has_preempted_ = false;
            fair_.plans();
            fills(now, batch);
        } while (has_preempted_ && batch.items.empty());
        for (const Item& item : batch.items) {
            sequences_[item.request].flying += item.tokens;
        }
    }

    u64 alike(const Batch& batch) override {
        if (is_short_ || !batch.only_decodes() || settings_.drafts > 0 || batch.items.size() != running_.size()) {
            return 1;
        }
        if (!waiting_.empty() && (kv_.is_cached() || is_fair())) {   // another may be first, or fit, the next time
            return 1;
        }
        u64 most = ~u64{0};
        for (const Item& item : batch.items) {
            most = std::min<u64>(most, requests_.output[item.request] - sequences_[item.request].emitted);
        }
        return most == 1 ? 1 : until_blocks_end(batch, most);
    }

    void ends(const Batch& batch, const Ended& when) override {
        if (when.count > 1) {
            hold_for_more(batch, when.count);
        }
        has_ended_ = false;
        for (const Item& item : batch.items) {
            Sequence& of = sequences_[item.request];
            of.computed += item.tokens + static_cast<u32>(when.count - 1);
            of.flying -= item.tokens;
            if (item.emits) {
                emit(item, of, when);
            }
        }
        if (has_ended_) {
            drop_ended();
        }
    }

    void releases(RequestId request) override { kv_.forget(request); }

    Vector<RequestId> loses_all(Time now) override {
        reasons_.plans(now);
        fair_.plans();
        Vector<RequestId> lost;
        for (const RequestId request : running_) {
            ledger_.is_preempted(request, now, sequences_[request].computed);
            kv_.forget(request);
            lost.push_back(request);
        }
        for (const RequestId request : waiting_) {
            if (ledger_.entries()[request].phase == Phase::queued) {
                reasons_.starts(request);
            }
            lost.push_back(request);
            if (is_fair()) {
                fair_.leaves(requests_.user[request]);
            }
        }
        for (const RequestId request : lost) {
            sequences_[request].computed = sequences_[request].kept = sequences_[request].flying = 0;
        }
        running_.clear();
        waiting_.clear();
        return lost;
    }

    Load load() const override {
        return {waiting_.size(), running_.size(), u64{kv_.total() - kv_.free()} * kv_.size(),
                u64{kv_.total()} * kv_.size(), kv_.evicted()};
    }
    u32 knows(RequestId request) const override {
        return const_cast<PagedKv&>(kv_).look_up(request, known_tokens(request)).blocks * kv_.size();
    }

private:
    void fills(Time now, Batch& batch) {
        budget_ = settings_.max_num_batched_tokens;
        threshold_ = running_.size() + waiting_.size() > 1 ? settings_.long_prefill_token_threshold : 0;
        is_short_ = !go_on(now, batch);
        if (!is_short_) {
            admit(now, batch);
        } else {
            reasons_.stops(Obstacle::blocks);
        }
    }

    // Running requests, in order; false if somebody was preempted.
    bool go_on(Time now, Batch& batch) {
        bool is_short = false;
        for (std::size_t at = 0; at < running_.size() && budget_ > 0; ++at) {
            const RequestId request = running_[at];
            const Sequence& of = sequences_[request];
            const u32 known = known_tokens(request);
            const u32 begun = of.computed + of.flying;
            const u32 drafts = of.emitted > 0 && known == begun + 1 ? settings_.drafts : 0;
            const u32 tokens = least(known + drafts - begun);
            if (tokens == 0) {
                continue;
            }
            while (!kv_.hold(request, begun + tokens)) {
                is_short = true;
                const std::size_t victim = worst();
                if (victim == running_.size()) {   // all are in iterations under way
                    return false;
                }
                if (victim < at) {   // by priority: it was to run in this iteration
                    take_out(batch, running_[victim]);
                    --at;
                }
                const bool is_itself = running_[victim] == request;
                preempt(victim, now);
                if (is_itself) {
                    return false;
                }
            }
            add(batch, request, tokens, known);
        }
        return !is_short;
    }

    void admit(Time now, Batch& batch) {
        while (!waiting_.empty()) {
            if (budget_ == 0) {
                return reasons_.stops(Obstacle::tokens);
            }
            if (running_.size() >= settings_.max_num_seqs) {
                return reasons_.stops(Obstacle::seats);
            }
            if (is_fair()) {
                bring_least_served();
            }
            const RequestId request = waiting_.front();
            Sequence& of = sequences_[request];
            const u32 known = known_tokens(request);
            const PagedKv::Hit hit = of.computed == 0 ? kv_.look_up(request, known) : PagedKv::Hit{};
            const u32 cached = of.computed + hit.all() * kv_.size();
            const u32 all = known - cached;
            if (!settings_.is_chunked && (threshold_ > 0 ? std::min(all, threshold_) : all) > budget_) {
                return reasons_.stops(Obstacle::tokens);
            }
            const u32 tokens = least(all);
            if (!kv_.hold(request, hit, cached + tokens)) {
                return reasons_.stops(Obstacle::blocks);
            }
            waiting_.pop_front();
            if (is_fair()) {
                fair_.leaves(requests_.user[request]);
            }
            if (ledger_.entries()[request].phase == Phase::queued) {
                reasons_.starts(request);
                fair_.reads(requests_.user[request], known);
            }
            ledger_.starts(request, now, hit.all() * kv_.size());
            batch.reading += hit.reading;
            of.computed = cached;
            running_.push_back(request);
            add(batch, request, tokens, known);
        }
    }

    u32 least(u32 tokens) const {
        const u32 few = threshold_ > 0 ? std::min(tokens, threshold_) : tokens;
        return std::min(few, budget_);
    }

    void add(Batch& batch, RequestId request, u32 tokens, u32 known) {
        const Sequence& of = sequences_[request];
        const u32 begun = of.computed + of.flying;
        kv_.publish(request, std::min(begun + tokens, known));
        budget_ -= tokens;
        batch.add({request, tokens, begun, of.emitted > 0 && begun + 1 >= known, begun + tokens >= known});
    }

    void take_out(Batch& batch, RequestId request) {
        Vector<Item> kept;
        for (const Item& item : batch.items) {
            if (item.request != request) {
                kept.push_back(item);
            } else {
                budget_ += item.tokens;
            }
        }
        batch.clear();
        for (const Item& item : kept) {
            batch.add(item);
        }
    }

    // Who is preempted next: by priority, then arrival, the last that no iteration works on.
    std::size_t worst() const {
        const bool by_priority = settings_.policy == WaitPolicy::priority;
        std::size_t found = running_.size();
        for (std::size_t at = running_.size(); at-- > 0;) {
            if (sequences_[running_[at]].flying > 0) {
                continue;
            }
            if (found == running_.size() ||
                (by_priority && goes_before(running_[found], running_[at]))) {
                found = at;
            }
            if (!by_priority) {
                return found;
            }
        }
        return found;
    }
    bool goes_before(RequestId a, RequestId b) const {
        if (requests_.priority[a] != requests_.priority[b]) {
            return requests_.priority[a] < requests_.priority[b];
        }
        const Time of_a = ledger_.entries()[a].arrival;
        const Time of_b = ledger_.entries()[b].arrival;
        return of_a != of_b ? of_a < of_b : a < b;
    }

    void preempt(std::size_t place, Time now) {
        has_preempted_ = true;
        const RequestId request = running_[place];
        Vector<RequestId> rest;
        for (std::size_t at = place + 1; at < running_.size(); ++at) {
            rest.push_back(running_[at]);
        }
        running_.resize(place);
        for (const RequestId other : rest) {
            running_.push_back(other);
        }
        ledger_.is_preempted(request, now, sequences_[request].computed);
        kv_.give_back(request);
        sequences_[request].computed = sequences_[request].kept = 0;
        wait(request, true);
    }

    bool is_fair() const { return settings_.policy == WaitPolicy::fair; }
    // To the head: the first request of the user who was served least, of equal ones the lowest.
    void bring_least_served() {
        const auto first = std::min_element(waiting_.begin(), waiting_.end(), [this](RequestId a, RequestId b) {
            return fair_.goes_before(requests_.user[a], requests_.user[b]);
        });
        const RequestId request = *first;
        waiting_.erase(first);
        waiting_.push_front(request);
    }

    void wait(RequestId request, bool at_head) {
        if (is_fair()) {
            fair_.waits(requests_.user[request]);
        }
        if (settings_.policy == WaitPolicy::priority) {
            const auto place = std::upper_bound(waiting_.begin(), waiting_.end(), request,
                                                [this](RequestId a, RequestId b) { return goes_before(a, b); });
            waiting_.insert(place, request);
        } else if (at_head) {
            waiting_.push_front(request);
        } else {
            waiting_.push_back(request);
        }
    }

    void emit(const Item& item, Sequence& of, const Ended& when) {
        const u32 output = requests_.output[item.request];
        u32 tokens = static_cast<u32>(when.count);
        if (item.decodes && settings_.drafts > 0) {
            const u32 drafts = item.tokens - 1;
            const u32 accepted = std::min(requests_.accepts(item.request, of.checks++), drafts);
            tokens = std::min(accepted + 1, output - of.emitted);
            of.computed -= drafts - accepted;
        }
        of.emitted += tokens;
        fair_.emits(requests_.user[item.request], tokens);
        ledger_.emits(item.request, when, tokens);
        if (of.emitted >= output) {
            ledger_.finishes(item.request, when.last);
            kv_.forget(item.request);
            has_ended_ = true;
        } else if (of.moves) {
            ledger_.is_prefilled(item.request, when.last);
            has_ended_ = true;
        }
    }

    void drop_ended() {
        std::size_t kept = 0;
        for (const RequestId request : running_) {
            const Sequence& of = sequences_[request];
            if (of.emitted < requests_.output[request] && !(of.moves && of.emitted > 0)) {
                running_[kept++] = request;
            }
        }
        running_.resize(kept);
    }

    // At most `most` iterations, until one needs more blocks than are free. The first has its blocks.
    u64 until_blocks_end(const Batch& batch, u64 most) {
        const u32 size = kv_.size();
        starts_block_.assign(size, 0);
        for (const Item& item : batch.items) {
            ++starts_block_[item.context % size];   // begins a block after size - this iterations
        }
        u64 left = kv_.free();
        const u64 rounds = std::min((most - 1) / size, left / batch.items.size());
        left -= rounds * batch.items.size();
        u64 count = 1 + rounds * size;
        for (; count < most; ++count) {
            const u32 need = starts_block_[(size - count % size) % size];
            if (need > left) {
                break;
            }
            left -= need;
        }
        return count;
    }

    // Blocks of the iterations after the first, in the order in which they would be taken.
    void hold_for_more(const Batch& batch, u64 count) {
        if (!kv_.is_cached()) {
            for (const Item& item : batch.items) {
                ensure(kv_.hold(item.request, item.context + static_cast<u32>(count)), "blocks that were counted");
            }
            return;
        }
        const u32 size = kv_.size();
        by_place_.resize(size);
        for (Vector<u32>& of : by_place_) {
            of.clear();
        }
        for (u32 at = 0; at < batch.items.size(); ++at) {
            by_place_[batch.items[at].context % size].push_back(at);
        }
        for (u64 step = 1; step < count; ++step) {
            const Vector<u32>& begin = by_place_[(size - step % size) % size];
            const Vector<u32>& fill = by_place_[(size - (step + 1) % size) % size];
            std::size_t next = 0;
            for (const u32 at : begin) {   // in the order of the batch
                for (; next < fill.size() && fill[next] < at; ++next) {
                    one_more(batch.items[fill[next]], step);
                }
                one_more(batch.items[at], step);
            }
            for (; next < fill.size(); ++next) {
                one_more(batch.items[fill[next]], step);
            }
        }
    }
    void one_more(const Item& item, u64 step) {
        const auto tokens = static_cast<u32>(item.context + step + 1);
        ensure(kv_.hold(item.request, tokens), "blocks that were counted");
        kv_.publish(item.request, tokens);
    }

    Settings settings_;
    PagedKv kv_;
    WaitReasons reasons_;
    FairQueue fair_;
    Tier host_;
    Tier disk_;
    Vector<RequestId> running_;
    std::deque<RequestId> waiting_;
    u32 budget_ = 0;
    u32 threshold_ = 0;
    bool is_short_ = false;   // of blocks in this plan, so nobody was let in
    bool has_preempted_ = false;
    bool has_ended_ = false;
    Vector<u32> starts_block_;
    Vector<Vector<u32>> by_place_;
};

std::unique_ptr<Engine> make_vllm(const Engine::Place& place, const EngineOptions& given) {
    const EngineKind& kind = *find_engine("vllm");
    const auto time = [&](const char* name) {
        return static_cast<Time>(option_of(kind, given, name) * 1000 * ps_per_ns);
    };
    const auto whole = [&](const char* name) { return static_cast<u32>(option_of(kind, given, name)); };
    const Settings settings{whole("max_num_seqs"), whole("max_num_batched_tokens"),
                            whole("long_prefill_token_threshold"), whole("num_speculative_tokens"),
                            whole("enable_chunked_prefill") != 0, static_cast<WaitPolicy>(whole("scheduling_policy")),
                            option_of(kind, given, "fair_input_weight"),
                            option_of(kind, given, "fair_output_weight"),
                            {whole("host_blocks"), time("host_block_us")}, {whole("disk_blocks"), time("disk_block_us")},
                            time("pool_block_us")};
    return std::make_unique<Vllm>(place, settings, whole("num_blocks"), whole("block_size"),
                                  whole("enable_prefix_caching") != 0);
}

const RegisteredEngine registered_vllm({
    "vllm",
    "vLLM V1: running requests first, then prompts in chunks; the last begins anew without blocks",
    make_vllm,
    {
        {"num_blocks", 4096, 1, "blocks of KV"},
        {"block_size", 16, 1, "tokens of a block"},
        {"max_num_seqs", 256, 1, "sequences that run at once"},
        {"max_num_batched_tokens", 8192, 1, "tokens of an iteration"},
        {"long_prefill_token_threshold", 0, 0, "most tokens of a prompt in an iteration, if others are there; 0: all"},
        {"num_speculative_tokens", 0, 0, "drafts that an iteration checks for each sequence"},
        {"enable_chunked_prefill", 1, 0, "prompts may be cut", {"off", "on"}},
        {"enable_prefix_caching", 1, 0, "equal beginnings are worked out once", {"off", "on"}},
        {"host_blocks", 0, 0, "blocks of KV that the host keeps of what the device gives up"},
        {"host_block_us", 0, 0, "time to read one back, us"},
        {"disk_blocks", 0, 0, "blocks of KV that a disk keeps of what the host gives up"},
        {"disk_block_us", 0, 0, "time to read one back, us"},
        {"pool_block_us", 0, 0, "time to read a block from the pool of all engines, us; 0: it is not used"},
        {"scheduling_policy", 0, 0, "who waits and who is preempted", {"fcfs", "priority", "fair"}},
        {"fair_input_weight", 1, 0, "of a token of a prompt, in what a user was served"},
        {"fair_output_weight", 2, 0, "of a token that comes out"},
    },
});

}  // namespace

}  // namespace yantra::serving
