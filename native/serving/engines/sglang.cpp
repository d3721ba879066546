// SGLang's engine: prompts first and alone, a tree of prefixes, and whole requests taken back without KV.
//
// Rules of SGLang 0.5.23 (srt/managers/scheduler.py, schedule_policy.py, schedule_batch.py), as are the
// golden schedules: prompts enter while an estimate of what all will need allows it, decodes wait for
// them; without KV those with the fewest tokens out go back to the tail of the queue. With overlap a
// step is planned while the one before runs, so its tokens are not known yet.
#include <algorithm>
#include <cmath>
#include <deque>
#include <memory>

#include "serving/engine.hpp"
#include "serving/kv/radix.hpp"
#include "serving/waiting.hpp"

namespace yantra::serving {

namespace {

constexpr u32 most_counted = 4096;       // tokens to come that the estimate counts of one request
constexpr u32 tokens_after_loss = 20;    // that are to be there for each that stays
constexpr u32 decay_steps = 600;
constexpr u32 most_looked_up = 128;      // waiting requests, of which more are not sorted
constexpr u32 refresh_every = 32;        // passes
constexpr u32 few_found = 32;            // tokens; so many in common with one that waits are enough to wait
constexpr double usual_ratio = 0.7;
constexpr double least_of_ratio = 0.14;

struct SglangSettings {
    u32 max_running_requests;
    u32 max_prefill_tokens;
    u32 chunked_prefill_size;   // 0: prompts are not cut
    bool is_mixed;
    bool by_prefix;
    bool ignores_eos;
    bool is_overlapped;
    double conservativeness;
};

// What a pass may still take (rules 5 and 11 of the scheduler's PrefillAdder).
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
    Vector<Entry> entries;
    RequestId cut;
    bool knows_needs = false;
    Vector<Need> needs;
};

class Sglang final : public Engine {
public:
    Sglang(const Place& place, const SglangSettings& settings, u32 pages, u32 page, bool is_cached)
        : Engine(place), settings_(settings), kv_(place.requests, pages, page, is_cached), reasons_(place.ledger),
          states_(place.requests.size()), first_ratio_(std::min(usual_ratio * settings.conservativeness, 1.0)),
          least_ratio_(std::min(first_ratio_ * least_of_ratio, 1.0)),
          decay_((first_ratio_ - least_ratio_) / decay_steps), ratio_(first_ratio_) {}

    void accepts(RequestId request, Time now) override {
        Sequence& of = sequences_[request];
        of.computed = of.kept;
        (of.kept > 0 ? arrived_ : waiting_).push_back(request);
        if (ledger_.entries()[request].phase == Phase::queued) {
            reasons_.arrives(request, now);
        }
    }

    void plans(Time now, Batch& batch) override {
        reasons_.plans(now);
        merge_last();
        take_arrived(now);
        if (!prefill(now, batch)) {
            decode(now, batch);
        }
        if (!batch.items.empty()) {
            ++in_flight_;
            for (const Item& item : batch.items) {
                ++states_[item.request].in_flight;
            }
        } else if (in_flight_ == 0 && running_.empty() && waiting_.empty() && arrived_.empty() && chunk_.is_none()) {
            ratio_ = first_ratio_;
        }
    }

    u64 alike(const Batch& batch) override {
        const bool nobody_enters = is_full_ || (waiting_.empty() && arrived_.empty());
        if (!batch.only_decodes() || !nobody_enters || !chunk_.is_none()) {
            return 1;
        }
        u64 most = ~u64{0};
        for (const Item& item : batch.items) {
            most = std::min<u64>(most, requests_.output[item.request] - sequences_[item.request].emitted);
        }
        return most == 1 ? 1 : until_pages_end(batch, most);
    }

    void ends(const Batch& batch, const Ended& when) override {
        --in_flight_;
        const auto more = static_cast<u32>(when.count - 1);
        for (u32 step = 0; step < more && ratio_ > least_ratio_; ++step) {
            decay();
        }
        for (const Item& item : batch.items) {
            State& state = states_[item.request];
            --state.in_flight;
            if (!state.runs) {
                continue;   // it has ended or lost its KV while this step ran
            }
            if (more > 0) {
                kv_.grow(item.request, more);
            }
            sequences_[item.request].computed = item.context + item.tokens + more;
            if (item.emits) {
                emit(item, when);
            }
        }
    }

    void releases(RequestId request) override {
        leave(request);
        is_full_ = false;
    }

    Vector<RequestId> loses_all(Time now) override;

    Load load() const override {
        return {waiting_.size() + arrived_.size(), rows_, kv_.total() - kv_.free_or_unpinned(), kv_.total()};
    }
    u32 knows(RequestId request) const override {
        const u32 known = known_tokens(request);
        return known == 0 ? 0 : const_cast<RadixKv&>(kv_).knows(request, known - 1);
    }
    u64 evicted() const override { return kv_.evicted(); }
    bool plans_ahead() const override { return settings_.is_overlapped; }

private:
    struct State {
        bool runs = false;   // admitted, and neither over nor taken back
        u8 in_flight = 0;    // planned steps with it
    };
    enum class Verdict : u8 { enters, no_tokens, stop };

    u32 limit(RequestId request) const { return std::max(requests_.limit[request], requests_.output[request]); }
    u32 left(RequestId request) const { return limit(request) - sequences_[request].emitted; }
    u32 up(u32 tokens) const { return (tokens + kv_.page() - 1) / kv_.page() * kv_.page(); }

    void merge_last();
    void take_arrived(Time now);
    bool prefill(Time now, Batch& batch);
    void order_waiting();
    void sort_by_prefix();
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

    double room_total() const { return static_cast<double>(kv_.free_or_unpinned()) - room_.total; }
    i64 room_current() const { return static_cast<i64>(kv_.free_or_unpinned()) - room_.current; }
    bool has_room() const { return room_total() > 0.0 && room_current() > 0; }
    bool is_spent() const { return room_.input <= 0 || (is_chunked() && room_.chunk <= 0); }
    bool is_chunked() const { return settings_.chunked_prefill_size > 0; }
    double running_need() const {
        const double ratio = settings_.ignores_eos ? 1.0 : ratio_;
        double need = 0.0;
        for (const RequestId request : running_) {
            need += std::min(left(request), most_counted) * ratio;
        }
        return need;
    }
    i64 seats(u64 that_hold_one) const {
        const auto most = static_cast<i64>(settings_.max_running_requests);
        return std::min(most - static_cast<i64>(running_.size()),
                        most - static_cast<i64>(rows_) + static_cast<i64>(that_hold_one));
    }
    void fill(Obstacle because) {
        is_full_ = true;
        full_because_ = because;
    }
    void decay() { ratio_ = std::max(ratio_ - decay_, least_ratio_); }
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

    SglangSettings settings_;
    RadixKv kv_;
    WaitReasons reasons_;
    IdVector<RequestId, State> states_;
    std::deque<RequestId> waiting_;
    std::deque<RequestId> arrived_;    // with their KV
    Vector<RequestId> running_;
    Vector<RequestId> last_;           // of the prefill that was planned last, not yet among those that run
    RequestId last_cut_;               // of them
    RequestId chunk_;                  // whose prompt has begun and not ended
    bool chunk_has_grown_ = false;
    bool is_full_ = false;             // nobody enters until somebody leaves
    Obstacle full_because_ = Obstacle::seats;
    u64 rows_ = 0;                     // requests that have a seat
    u32 in_flight_ = 0;
    u32 refreshes_ = 0;
    double first_ratio_;
    double least_ratio_;
    double decay_;
    double ratio_;                     // of its limit that a request is expected to need
    PrefillRoom room_;
    Vector<u32> starts_page_;
    NumberMap<bool> beginnings_;
};

// Those whose prompts are done run from now on.
void Sglang::merge_last() {
    if (!chunk_.is_none() && chunk_has_grown_) {
        kv_.publish(chunk_, kv_.tokens(chunk_));
        chunk_has_grown_ = false;
    }
    bool has_dropped = false;
    const bool was_empty = running_.empty();
    for (const RequestId request : last_) {
        const bool goes_on = states_[request].runs && !sequences_[request].moves;
        if (goes_on && request != last_cut_ && request != chunk_) {
            running_.push_back(request);
        } else {
            has_dropped = true;
        }
    }
    last_.clear();
    last_cut_ = RequestId::none;
    if (has_dropped || (was_empty && !running_.empty())) {
        is_full_ = false;
    }
    std::size_t kept = 0;
    for (const RequestId request : running_) {
        if (states_[request].runs) {
            running_[kept++] = request;
        }
    }
    if (kept < running_.size()) {
        running_.resize(kept);
        is_full_ = false;
    }
}

// A request with its KV runs at once, if seats and the estimate allow it.
void Sglang::take_arrived(Time now) {
    if (running_.empty()) {
        is_full_ = false;
    }
    double need = arrived_.empty() ? 0.0 : running_need();
    while (!arrived_.empty() && !is_full_) {
        const RequestId request = arrived_.front();
        const u32 tokens = sequences_[request].kept;
        if (seats(0) <= 0) {
            return fill(Obstacle::seats);
        }
        const u32 all = tokens + std::min(left(request), most_counted) + kv_.page();
        if (all >= static_cast<double>(kv_.free_or_unpinned()) - need || !kv_.make_free(up(tokens))) {
            if (!running_.empty()) {
                fill(Obstacle::blocks);
            }
            return;
        }
        arrived_.pop_front();
        kv_.begin(request, {});
        kv_.grow(request, tokens);
        note_start(request, now, 0);
        running_.push_back(request);
        need += std::min(left(request), most_counted) * (settings_.ignores_eos ? 1.0 : ratio_);
    }
}

bool Sglang::prefill(Time now, Batch& batch) {
    if (running_.empty()) {
        is_full_ = false;
    }
    if (chunk_.is_none()) {
        if (waiting_.empty()) {
            return false;
        }
        if (!is_full_ && seats(0) <= 0) {
            fill(Obstacle::seats);
        }
        if (is_full_) {
            reasons_.stops(full_because_);
            return false;
        }
    }
    order_waiting();
    begin_pass();
    if (!chunk_.is_none()) {
        go_on_with_chunk();
    }
    admit();
    if (room_.entries.empty()) {
        return false;
    }
    run_prefill(now, batch);
    return true;
}

void Sglang::order_waiting() {
    if (!kv_.is_cached() || waiting_.empty()) {
        return;
    }
    if (settings_.by_prefix && waiting_.size() <= most_looked_up) {
        return sort_by_prefix();
    }
    if (refreshes_++ % refresh_every == 0) {   // the first of the queue is used last
        for (std::size_t at = std::min<std::size_t>(waiting_.size(), most_looked_up); at-- > 0;) {
            kv_.look_up(waiting_[at], known_tokens(waiting_[at]));
        }
    }
}

// The longest known beginning first; of those that begin alike and are not known, only one.
void Sglang::sort_by_prefix() {
    struct Place {
        i64 order;
        RequestId request;
    };
    Vector<Place> places;
    beginnings_.clear();
    for (const RequestId request : waiting_) {
        const u32 known = known_tokens(request);
        const u32 found = kv_.look_up(request, known).tokens;
        i64 order = -static_cast<i64>(std::min(found, known - 1));
        if (found <= few_found && known >= few_found) {
            const u64 beginning = requests_.chained(0, request, 0, few_found);
            if (beginnings_.find(beginning) != nullptr) {
                order = 1;
            } else {
                beginnings_.add(beginning, true);
            }
        }
        places.push_back({order, request});
    }
    std::stable_sort(places.begin(), places.end(), [](const Place& a, const Place& b) { return a.order < b.order; });
    for (std::size_t at = 0; at < places.size(); ++at) {
        waiting_[at] = places[at].request;
    }
}

void Sglang::begin_pass() {
    const auto mixed = static_cast<i64>(settings_.is_mixed ? running_.size() : 0);
    room_.input = settings_.max_prefill_tokens - mixed;
    room_.chunk = settings_.chunked_prefill_size - mixed;
    room_.total = static_cast<double>(mixed) + running_need();
    room_.current = mixed;
    room_.entries.clear();
    room_.cut = RequestId::none;
    room_.knows_needs = false;
    room_.needs.clear();
}

// The one that is cut is cut again, or ends.
void Sglang::go_on_with_chunk() {
    const u32 has = kv_.tokens(chunk_);
    const u32 rest = known_tokens(chunk_) - has;
    i64 most = std::min(room_.chunk, static_cast<i64>(std::max(room_total(), 0.0)));
    if (most <= 0) {
        most = room_.chunk;
    }
    // SGLang would fail where there are no pages: here the chunk waits until decodes end or lose theirs.
    most = std::min(most, static_cast<i64>(kv_.free_or_unpinned()) + (up(has) - has));
    if (most <= 0) {
        return;
    }
    chunk_has_grown_ = true;
    const bool is_cut = rest > most;
    take(chunk_, is_cut ? static_cast<u32>(most) : rest, is_cut, false);
    if (!is_cut) {
        chunk_ = RequestId::none;
    }
}

void Sglang::admit() {
    const u64 with_seat = room_.entries.size();
    for (std::size_t at = 0; at < waiting_.size(); ++at) {
        if (has_room() && is_spent()) {
            return reasons_.stops(Obstacle::tokens);
        }
        if (static_cast<i64>(room_.entries.size()) >= seats(with_seat)) {
            fill(Obstacle::seats);
        }
        if (is_full_) {
            return reasons_.stops(full_because_);
        }
        Verdict verdict = enter(waiting_[at]);
        if (verdict == Verdict::enters) {
            verdict = !has_room() ? Verdict::no_tokens : is_spent() ? Verdict::stop : Verdict::enters;
        }
        if (verdict == Verdict::no_tokens) {
            if (!room_.entries.empty() || !running_.empty()) {
                fill(Obstacle::blocks);
            }
            return reasons_.stops(Obstacle::blocks);
        }
        if (verdict == Verdict::stop) {
            return reasons_.stops(Obstacle::tokens);
        }
    }
}

Sglang::Verdict Sglang::enter(RequestId request) {
    const RadixTree::Path found = kv_.look_up(request, known_tokens(request) - 1);
    if (settings_.ignores_eos && !kv_.is_cached()) {
        return enter_by_needs(request);
    }
    kv_.begin(request, found);   // so that nothing of it counts as free
    const Verdict verdict = enter_by_estimate(request, found);
    if (verdict != Verdict::enters) {
        kv_.give_back(request);
    }
    return verdict;
}

Sglang::Verdict Sglang::enter_by_estimate(RequestId request, const RadixTree::Path& found) {
    const u32 page = kv_.page();
    u32 tokens = known_tokens(request) - found.tokens;
    if (static_cast<double>(tokens + std::min(left(request), most_counted) + page) >= room_total()) {
        return Verdict::no_tokens;
    }
    if (!is_chunked() && !room_.entries.empty() && up(tokens) >= room_.input) {
        return Verdict::stop;
    }
    const bool is_cut = is_chunked() && up(tokens) > room_.chunk;
    if (is_cut) {
        const i64 end = (found.tokens + room_.chunk / page * page) / page * page;
        if (end <= found.tokens) {
            return Verdict::stop;
        }
        tokens = static_cast<u32>(end - found.tokens);
    }
    take(request, tokens, is_cut, true);
    return Verdict::enters;
}

// Outputs are as long as their limits, so it is known when each will give its KV back.
Sglang::Verdict Sglang::enter_by_needs(RequestId request) {
    const u32 tokens = known_tokens(request);
    const i64 pages = up(tokens) + kv_.page();
    if (pages > room_current() || static_cast<double>(pages) > room_total() ||
        !fits_needs(request, static_cast<u32>(pages))) {
        return Verdict::no_tokens;
    }
    kv_.begin(request, {});
    const bool is_cut = is_chunked() && tokens > room_.chunk;
    take(request, is_cut ? static_cast<u32>(room_.chunk) : tokens, is_cut, true);
    return Verdict::enters;
}

bool Sglang::fits_needs(RequestId request, u32 tokens) {
    add_need(request, room_.knows_needs);
    if (!room_.knows_needs) {
        room_.knows_needs = true;
        for (const RequestId other : running_) {
            add_need(other, false);
        }
        for (const PrefillRoom::Entry& entry : room_.entries) {
            add_need(entry.request, false);
        }
        std::stable_sort(room_.needs.begin(), room_.needs.end(),
                         [](const PrefillRoom::Need& a, const PrefillRoom::Need& b) { return a.left < b.left; });
    }
    const auto room = static_cast<double>(room_current() - i64{tokens});
    double freed = 0.0;
    auto those = static_cast<double>(room_.needs.size());
    for (const PrefillRoom::Need& need : room_.needs) {
        if (room + freed - need.left * those <= those) {
            return false;
        }
        freed += static_cast<double>(need.held);
        those -= 1.0;
    }
    return true;
}

void Sglang::add_need(RequestId request, bool sorted) {
    const PrefillRoom::Need need{static_cast<double>(left(request)), known_tokens(request)};
    if (need.left <= 0.0) {
        return;
    }
    if (!sorted || room_.needs.empty()) {
        room_.needs.push_back(need);
        return;
    }
    std::size_t at = 0;
    while (at + 1 < room_.needs.size() && need.left > room_.needs[at].left) {   // never behind the last
        ++at;
    }
    room_.needs.insert(room_.needs.begin() + at, need);
}

void Sglang::take(RequestId request, u32 tokens, bool is_cut, bool is_new) {
    const i64 pages = up(tokens);
    room_.total += static_cast<double>(pages + kv_.page() + (is_cut ? 0 : std::min(limit(request), most_counted)));
    room_.current += pages + kv_.page();
    room_.input -= pages;
    room_.chunk -= pages;
    room_.entries.push_back({request, tokens, is_new});
    if (is_cut) {
        room_.cut = request;
    }
}

void Sglang::run_prefill(Time now, Batch& batch) {
    u64 asked = kv_.page() > 1 ? room_.entries.size() * kv_.page() : 0;
    for (const PrefillRoom::Entry& entry : room_.entries) {
        asked += entry.tokens;
    }
    kv_.make_free(asked);
    last_cut_ = room_.cut;
    if (!room_.cut.is_none()) {
        chunk_ = room_.cut;
        chunk_has_grown_ = true;
    }
    for (const auto& [request, tokens, is_new] : room_.entries) {
        const u32 context = kv_.tokens(request);
        if (is_new) {
            waiting_.pop_front();
            note_start(request, now, context);
            sequences_[request].computed = context;
        }
        kv_.grow(request, tokens);
        batch.add({request, tokens, context, false, request != room_.cut});
        last_.push_back(request);
    }
    if (settings_.is_mixed && !running_.empty()) {
        join(batch);
    }
}

// Decodes run beside prompts, if there are pages for them.
void Sglang::join(Batch& batch) {
    if (drop_leaving()) {
        is_full_ = false;
    }
    if (running_.empty() || !fits_decode()) {
        return;
    }
    add_decodes(batch);
    for (const RequestId request : running_) {
        last_.push_back(request);
    }
    running_.clear();
}

void Sglang::decode(Time now, Batch& batch) {
    if (running_.empty()) {
        return;
    }
    const std::size_t before = running_.size();
    const bool some_leave = drop_leaving();
    if (running_.empty()) {
        is_full_ = false;
        return;
    }
    if (fits_decode()) {
        decay();
    } else if (some_leave) {
        is_full_ = false;
        return;   // they give their KV back when the step that runs ends
    } else {
        retract(now);
    }
    if (running_.size() < before) {
        is_full_ = false;
    }
    if (!running_.empty()) {
        add_decodes(batch);
    }
}

// Those whose last token, by their limit, is under way.
bool Sglang::drop_leaving() {
    std::size_t kept = 0;
    for (const RequestId request : running_) {
        if (states_[request].in_flight == 0 || left(request) > 1) {
            running_[kept++] = request;
        }
    }
    const bool some_leave = kept < running_.size();
    running_.resize(kept);
    return some_leave;
}

bool Sglang::fits_decode() {
    u64 pages = 0;
    for (const RequestId request : running_) {
        pages += kv_.tokens(request) % kv_.page() == 0 ? 1 : 0;
    }
    return kv_.make_free(pages * kv_.page());
}

void Sglang::add_decodes(Batch& batch) {
    kv_.make_free(running_.size() * kv_.page());
    for (const RequestId request : running_) {
        const u32 context = kv_.tokens(request);
        kv_.grow(request, 1);
        batch.add({request, 1, context, true, true});
    }
}

// Those with the fewest tokens out lose their KV, of them those with the longest prompts.
void Sglang::retract(Time now) {
    std::stable_sort(running_.begin(), running_.end(), [this](RequestId a, RequestId b) {
        const u32 of_a = sequences_[a].emitted;
        const u32 of_b = sequences_[b].emitted;
        return of_a != of_b ? of_a > of_b : requests_.prompt[a] < requests_.prompt[b];
    });
    bool fits = false;
    while (!fits && running_.size() > 1) {
        const RequestId request = running_.back();
        running_.pop_back();
        take_back(request, now);
        waiting_.push_back(request);
        kv_.make_free(running_.size() * tokens_after_loss);
        fits = fits_decode();
    }
    if (!fits && !fits_decode()) {   // SGLang gives it up: it will never end
        take_back(running_.back(), now);
        running_.pop_back();
    }
    u64 out = 0;
    u64 limits = 0;
    for (const RequestId request : running_) {
        out += sequences_[request].emitted;
        limits += limit(request);
    }
    ratio_ = std::min(1.0, static_cast<double>(out + tokens_after_loss * running_.size()) /
                               static_cast<double>(limits + 1));
}

void Sglang::take_back(RequestId request, Time now) {
    ledger_.is_preempted(request, now, kv_.tokens(request));
    leave(request);
    sequences_[request].computed = sequences_[request].kept = 0;
}

void Sglang::emit(const Item& item, const Ended& when) {
    const RequestId request = item.request;
    Sequence& of = sequences_[request];
    of.emitted += static_cast<u32>(when.count);
    ledger_.emits(request, when, when.count);
    if (of.emitted >= requests_.output[request]) {
        kv_.publish(request, std::min(kv_.tokens(request), known_tokens(request)));
        leave(request);
        ledger_.finishes(request, when.last);
        return;
    }
    if (item.decodes) {
        return;
    }
    kv_.publish(request, item.context + item.tokens);
    if (of.moves) {
        states_[request].runs = false;
        ledger_.is_prefilled(request, when.last);
    }
}

// At most `most` steps, until one would have to give up pages of the tree. The first has its pages.
u64 Sglang::until_pages_end(const Batch& batch, u64 most) {
    const u32 page = kv_.page();
    const u64 each = batch.items.size();
    u64 pages = kv_.free() / page;
    const u64 rounds = pages < 2 * each ? 0 : std::min((most - 1) / page, pages / each - 1);
    starts_page_.assign(page, 0);
    for (const Item& item : batch.items) {
        ++starts_page_[item.context % page];   // begins a page after page - this steps
    }
    pages -= rounds * each;
    const bool has_tree = kv_.free_or_unpinned() > kv_.free();
    u64 count = 1 + rounds * page;
    for (; count < most; ++count) {
        const u32 need = starts_page_[(page - count % page) % page];
        if (pages < (has_tree ? each : need)) {   // SGLang makes a page for each free, needed or not
            break;
        }
        pages -= need;
    }
    return count;
}

Vector<RequestId> Sglang::loses_all(Time now) {
    reasons_.plans(now);
    Vector<RequestId> lost;
    const auto lose = [&](RequestId request) {
        if (states_[request].runs) {
            take_back(request, now);
            lost.push_back(request);
        }
    };
    for (const RequestId request : running_) {
        lose(request);
    }
    for (u32 at = 0; at < states_.size(); ++at) {   // in steps that did not end
        lose(RequestId(at));
        states_[RequestId(at)].in_flight = 0;
    }
    for (std::deque<RequestId>* queue : {&arrived_, &waiting_}) {
        for (const RequestId request : *queue) {
            if (ledger_.entries()[request].phase == Phase::queued) {
                reasons_.starts(request);
            }
            sequences_[request].computed = sequences_[request].kept = 0;
            lost.push_back(request);
        }
        queue->clear();
    }
    running_.clear();
    last_.clear();
    last_cut_ = chunk_ = RequestId::none;
    is_full_ = false;
    in_flight_ = 0;
    ratio_ = first_ratio_;
    return lost;
}

std::unique_ptr<Engine> make_sglang(const Engine::Place& place, const EngineOptions& given) {
    const EngineKind& kind = *find_engine("sglang");
    const auto of = [&](const char* name) { return option_of(kind, given, name); };
    const auto whole = [&](const char* name) { return static_cast<u32>(of(name)); };
    const u32 chunk = of("chunked_prefill_size") > 0 ? whole("chunked_prefill_size") : 0;
    const SglangSettings settings{whole("max_running_requests"), whole("max_prefill_tokens"), chunk,
                                  chunk > 0 && of("mixed_chunk") != 0, of("schedule_policy") == 1,
                                  of("ignore_eos") != 0, of("overlap") != 0, of("schedule_conservativeness")};
    return std::make_unique<Sglang>(place, settings, whole("kv_tokens") / whole("page_size"), whole("page_size"),
                                    of("radix_cache") != 0);
}

const RegisteredEngine registered_sglang({
    "sglang",
    "SGLang: prompts first and alone, known prefixes in a tree; without KV the shortest outputs go back",
    make_sglang,
    {
        {"kv_tokens", 65536, 1, "tokens of KV, in whole pages"},
        {"page_size", 1, 1, "tokens of a page"},
        {"max_running_requests", 2048, 1, "requests that run at once"},
        {"max_prefill_tokens", 16384, 1, "tokens of prompts that enter in an iteration"},
        {"chunked_prefill_size", 8192, -1, "tokens of prompts in an iteration, which are cut; -1 or 0: they are not"},
        {"mixed_chunk", 0, 0, "decodes run beside prompts", {"off", "on"}},
        {"schedule_policy", 0, 0, "who enters first", {"fcfs", "lpm"}},
        {"radix_cache", 1, 0, "equal beginnings are worked out once", {"off", "on"}},
        {"schedule_conservativeness", 1, 0, "scales the part of their limits that outputs are expected to reach"},
        {"ignore_eos", 0, 0, "outputs are as long as their limits", {"off", "on"}},
        {"overlap", 0, 0, "an iteration is planned while the one before runs", {"off", "on"}},
    },
});

}  // namespace

}  // namespace yantra::serving
