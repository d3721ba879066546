// SGLang's engine: prompts first and alone, a tree of prefixes, whole requests taken back without
// KV. Rules of SGLang 0.5.23 (srt/managers/scheduler.py, schedule_policy.py, schedule_batch.py).
// With overlap a step is planned while the one before runs.
#pragma once

#include <algorithm>
#include <deque>

#include "serving/engines/sglang_queue.hpp"
#include "serving/waiting.hpp"

namespace yantra::serving {

namespace sglang {

inline constexpr u32 most_counted = 4096;       // tokens to come that the estimate counts of one request
inline constexpr u32 tokens_after_loss = 20;    // that are to be there for each that stays
inline constexpr u32 decay_steps = 600;
inline constexpr double usual_ratio = 0.7;
inline constexpr double least_of_ratio = 0.14;

struct Settings {
    u32 max_running_requests;
    u32 max_prefill_tokens;
    u32 chunked_prefill_size;   // 0: prompts are not cut
    bool is_mixed;
    Policy policy;
    bool ignores_eos;
    bool is_overlapped;
    double conservativeness;

    bool is_chunked() const { return chunked_prefill_size > 0; }
};

// It falls with each step of decodes.
struct TokenRatio {
    double first;
    double least = std::min(first * least_of_ratio, 1.0);
    double decay = (first - least) / decay_steps;
    double now = first;

    void fall() { now = std::max(now - decay, least); }
};

// PrefillAdder of schedule_policy.py.
struct PrefillRoom {
    struct Entry {
        RequestId request;
        u32 tokens;
        bool is_new;
    };
    struct Need {   // of a request whose output is as long as its limit
        double left;
        u64 held;
    };

    i64 input = 0;
    i64 chunk = 0;
    double total = 0.0;   // tokens of KV that are spoken for, with those that running requests will need
    i64 current = 0;      // without
    std::vector<Entry> entries;
    RequestId cut;
    bool knows_needs = false;
    std::vector<Need> needs;

    double left(u64 there) const { return static_cast<double>(there) - total; }
    i64 left_now(u64 there) const { return static_cast<i64>(there) - current; }
    bool has_any(u64 there) const { return left(there) > 0.0 && left_now(there) > 0; }
    bool is_spent(bool is_chunked) const { return input <= 0 || (is_chunked && chunk <= 0); }
};

}  // namespace sglang

class Sglang final : public Engine {
public:
    Sglang(const Place& place, const sglang::Settings& settings, u32 pages, u32 page, bool is_cached)
        : Engine(place, {settings.is_overlapped, true}), settings_(settings), kv_(place.requests, pages, page, is_cached),
          reasons_(place.ledger), slots_(place.stages), seats_of_slot_(std::max(1U, settings.max_running_requests / place.stages)),
          states_(place.requests.size()),
          queue_(place.requests, place.sequences, kv_, settings.policy), ratio_{std::min(sglang::usual_ratio * settings.conservativeness, 1.0)} {}

    void accepts(RequestId request, Time now) override {
        Sequence& of = sequences_[request];
        of.computed = of.kept;
        if (of.kept > 0) {
            arrived_.push_back(request);
        } else {
            queue_.adds(request);
        }
        if (ledger_.entries()[request].phase == Phase::queued) {
            reasons_.arrives(request, now);
        }
    }

    void plans(Time now, Batch& batch) override;
    u64 alike(const Batch& batch, const Batch& ahead) override;
    void ends(const Batch& batch, const Ended& when) override;
    void releases(RequestId request) override {
        leave(request);
        slot_.is_full = false;
        for (Slot& slot : slots_) {
            slot.is_full = false;
        }
    }

    std::vector<RequestId> loses_all(Time now) override;

    Load load() const override {
        return {queue_.size() + arrived_.size(), rows_, kv_.total() - kv_.free_or_unpinned(), kv_.total(),
                kv_.evicted()};
    }
    u32 knows(RequestId request) const override {
        const u32 known = known_tokens(request);
        return known == 0 ? 0 : const_cast<RadixKv&>(kv_).knows(request, known - 1);
    }

private:
    struct State {
        bool runs = false;   // admitted, and neither over nor taken back
        u8 in_flight = 0;    // planned steps with it
    };
    enum class Verdict : u8 { enters, no_tokens, stop };
    // A micro-batch.
    struct Slot {
        std::vector<RequestId> running;
        std::vector<RequestId> last;    // of the prefill that was planned last, not yet among those that run
        RequestId last_cut;             // of them
        bool is_full = false;           // nobody enters until somebody leaves
        Obstacle full_because = Obstacle::seats;
        u64 last_read = 0;              // tokens, by the last step that had prompts
        u64 read_by_decode = 0;         // what a decode counts as
        bool is_in_flight = false;
    };

    u32 limit(RequestId request) const { return queue_.limit(request); }
    u32 left(RequestId request) const { return limit(request) - sequences_[request].emitted; }

    void plan(Time now, Batch& batch);
    bool is_idle() const {
        bool is_one = in_flight_ == 0 && queue_.empty() && arrived_.empty() && chunk_.is_none();
        for (const Slot& slot : slots_) {
            is_one = is_one && slot.running.empty();
        }
        return is_one && slot_.running.empty();
    }
    void merge_last();
    void take_arrived(Time now);
    bool prefill(Time now, Batch& batch);
    void begin_pass();
    void go_on_with_chunk();
    void admit();
    Verdict enter(RequestId request);
    Verdict enter_by_estimate(RequestId request, const RadixTree::Path& found);
    Verdict enter_by_needs(RequestId request);
    bool fits_needs(RequestId request, u32 tokens);
    void add_need(RequestId request, bool sorted);
    void take(RequestId request, u32 tokens, bool is_cut, bool is_new);
    void run_prefill(Time now, Batch& batch);
    void join(Batch& batch);
    void decode(Time now, Batch& batch);
    bool drop_leaving();
    bool fits_decode();
    void add_decodes(Batch& batch);
    void retract(Time now);
    void take_back(RequestId request, Time now);
    void emit(const Item& item, const Ended& when);
    u64 until_pages_end(const Batch& batch, u64 most);

    double running_need() const {
        const double ratio = settings_.ignores_eos ? 1.0 : ratio_.now;
        double need = 0.0;
        for (const RequestId request : slot_.running) {
            need += std::min(left(request), sglang::most_counted) * ratio;
        }
        return need;
    }
    i64 seats(u64 that_hold_one) const {
        const auto most = static_cast<i64>(settings_.max_running_requests);
        return std::min(i64{seats_of_slot_} - static_cast<i64>(slot_.running.size()),
                        most - static_cast<i64>(rows_) + static_cast<i64>(that_hold_one));
    }
    void fill(Obstacle because) {
        slot_.is_full = true;
        slot_.full_because = because;
    }
    void note_start(RequestId request, Time now, u32 cached) {
        if (ledger_.entries()[request].phase == Phase::queued) {
            reasons_.starts(request);
        }
        ledger_.starts(request, now, cached);
        states_[request].runs = true;
        ++rows_;
    }
    void leave(RequestId request) {
        kv_.give_back(request);
        --rows_;
        states_[request].runs = false;
    }

    sglang::Settings settings_;
    RadixKv kv_;
    WaitReasons reasons_;
    Slot slot_;                        // that is planned
    std::vector<Slot> slots_;          // the others of a pipeline
    std::size_t next_slot_ = 0;
    std::deque<std::size_t> flying_;   // slots in flight, in order
    u32 seats_of_slot_;
    IdVector<RequestId, State> states_;
    SglangQueue queue_;
    std::deque<RequestId> arrived_;    // with their KV
    RequestId chunk_;                  // whose prompt has begun and not ended
    bool chunk_has_grown_ = false;
    u64 rows_ = 0;                     // requests that have a seat
    u32 in_flight_ = 0;
    sglang::TokenRatio ratio_;
    sglang::PrefillRoom room_;
    std::vector<u32> starts_page_;
};

}  // namespace yantra::serving
