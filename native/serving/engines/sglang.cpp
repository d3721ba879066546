// A step of SGLang's engine: who goes on, who loses his KV, and what its end brings.
#include "serving/engines/sglang.hpp"

#include <memory>

namespace yantra::serving {

void Sglang::plans(Time now, Batch& batch) {
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
        ratio_.now = ratio_.first;
    }
}

u64 Sglang::alike(const Batch& batch) {
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

void Sglang::ends(const Batch& batch, const Ended& when) {
    --in_flight_;
    const auto more = static_cast<u32>(when.count - 1);
    for (u32 step = 0; step < more && ratio_.now > ratio_.least; ++step) {
        ratio_.fall();
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
        const u32 all = tokens + std::min(left(request), sglang::most_counted) + kv_.page();
        if (all >= static_cast<double>(kv_.free_or_unpinned()) - need || !kv_.make_free(kv_.up(tokens))) {
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
        need += std::min(left(request), sglang::most_counted) * (settings_.ignores_eos ? 1.0 : ratio_.now);
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
        ratio_.fall();
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
        kv_.make_free(running_.size() * sglang::tokens_after_loss);
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
    ratio_.now = std::min(1.0, static_cast<double>(out + sglang::tokens_after_loss * running_.size()) /
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
    ratio_.now = ratio_.first;
    return lost;
}

namespace {

std::unique_ptr<Engine> make_sglang(const Engine::Place& place, const EngineOptions& given) {
    const EngineKind& kind = *find_engine("sglang");
    const auto of = [&](const char* name) { return option_of(kind, given, name); };
    const auto whole = [&](const char* name) { return static_cast<u32>(of(name)); };
    const u32 chunk = of("chunked_prefill_size") > 0 ? whole("chunked_prefill_size") : 0;
    const sglang::Settings settings{whole("max_running_requests"), whole("max_prefill_tokens"), chunk,
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
