// vLLM's V1 engine: running requests in order, then waiting ones unless somebody was preempted:
// without blocks the last that runs begins anew. Rules of vLLM 0.33.0
// (vllm/v1/core/sched/scheduler.py, kv_cache_manager.py). Beyond its policies, `fair` lets in the
// user who was served least (FairQueue).
#include <algorithm>
#include <deque>
#include <memory>
#include <type_traits>

#include "serving/engine.hpp"
#include "serving/engines/vllm.hpp"
#include "serving/fair.hpp"
#include "serving/kv/hybrid.hpp"
#include "serving/waiting.hpp"

namespace yantra::serving {

namespace {

template <class Kv>
class Vllm final : public Engine {
public:
    template <class... Groups>
    Vllm(const Place& place, const vllm::Settings& settings, const vllm::KvOptions& kv, const Groups&... groups)
        : Engine(place, {false, true}), settings_(settings),
          kv_(place.requests, kv.blocks, kv.block_size, kv.is_cached, groups...), reasons_(place.ledger),
          fair_(settings.input_weight, settings.output_weight), host_(settings.host.blocks),
          disk_(settings.disk.blocks) {
        if constexpr (std::is_same_v<Kv, PagedKv>) {
            const auto add = [this](Tier& tier, const vllm::Below& below) {
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
    }

    void accepts(RequestId request, Time now) override {
        sequences_[request].computed = sequences_[request].kept;
        if constexpr (std::is_same_v<Kv, PagedKv>) {
            kv_.arrives(request);
        }
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

    u64 alike(const Batch& batch, const Batch& /*ahead*/) override {
        if (is_short_ || !batch.only_decodes() || settings_.drafts > 0 || batch.items.size() != running_.size()) {
            return 1;
        }
        if (!stays_out(batch)) {
            return 1;
        }
        u64 most = ~u64{0};
        for (const Item& item : batch.items) {
            most = std::min<u64>(most, requests_.output[item.request] - sequences_[item.request].emitted);
        }
        return most == 1 ? 1 : kv_.iterations_that_fit(batch, most);
    }

    void ends(const Batch& batch, const Ended& when) override {
        if (when.count > 1) {
            kv_.hold_ahead(batch, when.count);
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

    std::vector<RequestId> loses_all(Time now) override {
        reasons_.plans(now);
        fair_.plans();
        std::vector<RequestId> lost;
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
        Kv& kv = const_cast<Kv&>(kv_);
        if constexpr (std::is_same_v<Kv, PagedKv>) {
            kv.arrives(request);
        }
        const u32 known = kv.look_up(request, known_tokens(request)).blocks * kv.size();
        if (requests_.is_stream()) {   // others will be at its place, here or not
            kv.forget(request);
        }
        return known;
    }

private:
    // Whether nobody who waits can enter before somebody ends.
    bool stays_out(const Batch& batch) const {
        if (waiting_.empty() || running_.size() >= settings_.max_num_seqs || budget_ == 0) {
            return true;
        }
        if (!kv_.is_cached() || is_fair()) {   // another may be first
            return !is_fair();
        }
        if constexpr (std::is_same_v<Kv, PagedKv>) {   // it lacks blocks; does it go on to?
            const RequestId first = waiting_.front();
            const u32 known = known_tokens(first);
            const auto is_private = [this](const Item& item) { return kv_.is_private(item.request); };
            return requests_.adapter[first] == 0 && least(known) == known &&
                   std::all_of(batch.items.begin(), batch.items.end(), is_private);
        } else {
            return false;
        }
    }

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

    // False if somebody was preempted.
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
            while (!kv_.hold(request, begun, begun + tokens)) {
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
        note_adapters(batch);
        std::vector<RequestId> passed_over;
        let_in(now, batch, passed_over);
        if (!passed_over.empty()) {
            reasons_.stops(Obstacle::seats);
            waiting_.insert(waiting_.begin(), passed_over.begin(), passed_over.end());
        }
    }
    // Others may go before one whose adapter finds no room.
    void let_in(Time now, Batch& batch, std::vector<RequestId>& passed_over) {
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
            if (!has_adapter(request) && adapters_.size() >= settings_.adapters) {
                passed_over.push_back(request);
                waiting_.pop_front();
                continue;
            }
            Sequence& of = sequences_[request];
            const u32 known = known_tokens(request);
            const typename Kv::Hit hit = of.computed == 0 ? kv_.look_up(request, known) : typename Kv::Hit{};
            const u32 cached = of.computed + hit.all() * kv_.size();
            const u32 all = known - cached;
            if (!settings_.is_chunked && (threshold_ > 0 ? std::min(all, threshold_) : all) > budget_) {
                return reasons_.stops(Obstacle::tokens);
            }
            const u32 tokens = least(all);
            if (!kv_.hold(request, hit, cached, cached + tokens)) {
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
            if (!has_adapter(request)) {
                adapters_.push_back(requests_.adapter[request]);
            }
            add(batch, request, tokens, known);
        }
    }
    // Those of the requests that an iteration works on.
    void note_adapters(const Batch& batch) {
        adapters_.clear();
        for (const Item& item : batch.items) {
            if (!has_adapter(item.request)) {
                adapters_.push_back(requests_.adapter[item.request]);
            }
        }
    }
    bool has_adapter(RequestId request) const {
        const u32 adapter = requests_.adapter[request];
        return adapter == 0 || std::find(adapters_.begin(), adapters_.end(), adapter) != adapters_.end();
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
        std::vector<Item> kept;
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

    std::size_t worst() const {
        const bool by_priority = settings_.policy == vllm::WaitPolicy::priority;
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
        return of_a != of_b ? of_a < of_b : requests_.order(a) < requests_.order(b);
    }

    void preempt(std::size_t place, Time now) {
        has_preempted_ = true;
        const RequestId request = running_[place];
        std::vector<RequestId> rest;
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

    bool is_fair() const { return settings_.policy == vllm::WaitPolicy::fair; }
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
        if (settings_.policy == vllm::WaitPolicy::priority) {
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

    vllm::Settings settings_;
    Kv kv_;
    WaitReasons reasons_;
    FairQueue fair_;
    Tier host_;
    Tier disk_;
    std::vector<RequestId> running_;
    std::deque<RequestId> waiting_;
    std::vector<u32> adapters_;    // of this iteration
    u32 budget_ = 0;
    u32 threshold_ = 0;
    bool is_short_ = false;   // of blocks in this plan, so nobody was let in
    bool has_preempted_ = false;
    bool has_ended_ = false;
};

std::unique_ptr<Engine> make_vllm(const Engine::Place& place, const EngineOptions& given) {
    const EngineKind& kind = *find_engine("vllm");
    const auto time = [&](const char* name) {
        return static_cast<Time>(option_of(kind, given, name) * 1000 * ps_per_ns);
    };
    const auto whole = [&](const char* name) { return static_cast<u32>(option_of(kind, given, name)); };
    const vllm::Settings settings{whole("max_num_seqs"), whole("max_num_batched_tokens"),
                            whole("long_prefill_token_threshold"), whole("num_speculative_tokens"),
                            whole("enable_chunked_prefill") != 0,
                            static_cast<vllm::WaitPolicy>(whole("scheduling_policy")),
                            whole("max_loras"),
                            option_of(kind, given, "fair_input_weight"),
                            option_of(kind, given, "fair_output_weight"),
                            {whole("host_blocks"), time("host_block_us")}, {whole("disk_blocks"), time("disk_block_us")},
                            time("pool_block_us")};
    const vllm::KvOptions kv{whole("num_blocks"), whole("block_size"), whole("enable_prefix_caching") != 0};
    const KvGroups groups{whole("full_groups"), whole("window_groups"), whole("window"), whole("state_groups")};
    if (groups.is_plain()) {
        return std::make_unique<Vllm<PagedKv>>(place, settings, kv);
    }
    return std::make_unique<Vllm<HybridKv>>(place, settings, kv, groups);
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
        {"full_groups", 1, 0, "groups of layers with a block each that keep all tokens"},
        {"window_groups", 0, 0, "groups of layers that keep a window"},
        {"window", 0, 0, "its tokens"},
        {"state_groups", 0, 0, "groups of layers that keep a state, in one block"},
        {"host_blocks", 0, 0, "blocks of KV that the host keeps of what the device gives up"},
        {"host_block_us", 0, 0, "time to read one back, us"},
        {"disk_blocks", 0, 0, "blocks of KV that a disk keeps of what the host gives up"},
        {"disk_block_us", 0, 0, "time to read one back, us"},
        {"pool_block_us", 0, 0, "time to read a block from the pool of all engines, us; 0: it is not used"},
        {"max_loras", 1, 1, "adapters of weights that an iteration may have"},
        {"scheduling_policy", 0, 0, "who waits and who is preempted", {"fcfs", "priority", "fair"}},
        {"fair_input_weight", 1, 0, "of a token of a prompt, in what a user was served"},
        {"fair_output_weight", 2, 0, "of a token that comes out"},
    },
    true,
});

}  // namespace

}  // namespace yantra::serving
