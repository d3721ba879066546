// A step of SGLang's engine.
#include "serving/engines/sglang.hpp"

#include <memory>
#include <utility>

namespace yantra::serving {

void Sglang::plans(Time now, Batch& batch) {
    reasons_.plans(now);
    queue_.plans();
    if (slots_.size() == 1) {
        return plan(now, batch);
    }
    for (std::size_t tried = 0; tried < slots_.size() && batch.items.empty(); ++tried) {
        Slot& slot = slots_[next_slot_];
        if (slot.is_in_flight) {   // SGLang waits for it before it plans any other
            return;
        }
        std::swap(slot_, slot);
        plan(now, batch);
        std::swap(slot_, slot);
        if (!batch.items.empty()) {
            slot.is_in_flight = true;
            flying_.push_back(next_slot_);
        }
        next_slot_ = (next_slot_ + 1) % slots_.size();
    }
}

void Sglang::plan(Time now, Batch& batch) {
    merge_last();
    take_arrived(now);
    if (!prefill(now, batch)) {
        decode(now, batch);
    }
    if (!batch.items.empty()) {
        ++in_flight_;
        for (const Item& item : batch.items) {
            ++states_[item.request].in_flight;
            requests_.is_used(item.request, 1);
        }
    } else if (is_idle()) {
        ratio_.now = ratio_.first;
    }
}

// Nobody may end, or be known to end by his limit, before the last of them is planned.
u64 Sglang::alike(const Batch& batch, const Batch& ahead) {
    const bool is_ahead = settings_.is_overlapped;
    const Batch& last = is_ahead ? ahead : batch;
    const bool nobody_enters = chunk_.is_none() && (slot_.is_full || (queue_.empty() && arrived_.empty()));
    if (!batch.only_decodes() || !last.only_decodes() || batch.items.size() != last.items.size() || !nobody_enters) {
        return 1;
    }
    u64 most = ~u64{0};
    for (std::size_t at = 0; at < batch.items.size(); ++at) {
        const RequestId request = batch.items[at].request;
        if (request != last.items[at].request || !states_[request].runs) {
            return 1;
        }
        const u32 emitted = sequences_[request].emitted;
        most = std::min<u64>(most, requests_.output[request] - emitted);
        most = is_ahead ? std::min<u64>(most, left(request) - 1) : most;
    }
    return most <= 1 ? 1 : until_pages_end(last, most);
}

void Sglang::ends(const Batch& batch, const Ended& when) {
    --in_flight_;
    if (!flying_.empty()) {
        slots_[flying_.front()].is_in_flight = false;
        flying_.pop_front();
    }
    const auto more = static_cast<u32>(when.count - 1);
    for (u32 step = 0; step < more && ratio_.now > ratio_.least; ++step) {
        ratio_.fall();
    }
    queue_.reads(more * slot_.read_by_decode);
    for (const Item& item : batch.items) {
        State& state = states_[item.request];
        --state.in_flight;
        requests_.is_used(item.request, -1);
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

void Sglang::merge_last() {
    if (!chunk_.is_none() && chunk_has_grown_) {
        kv_.publish(chunk_, kv_.tokens(chunk_));
        chunk_has_grown_ = false;
    }
    bool has_dropped = false;
    const bool was_empty = slot_.running.empty();
    for (const RequestId request : slot_.last) {
        const bool goes_on = states_[request].runs && !sequences_[request].moves;
        if (goes_on && request != slot_.last_cut && request != chunk_) {
            slot_.running.push_back(request);
        } else {
            has_dropped = true;
        }
    }
    slot_.last.clear();
    slot_.last_cut = RequestId::none;
    if (was_empty && !slot_.running.empty()) {
        slot_.read_by_decode = slot_.last_read;
    }
    if (has_dropped || (was_empty && !slot_.running.empty())) {
        slot_.is_full = false;
    }
    std::size_t kept = 0;
    for (const RequestId request : slot_.running) {
        if (states_[request].runs) {
            slot_.running[kept++] = request;
        }
    }
    if (kept < slot_.running.size()) {
        slot_.running.resize(kept);
        slot_.is_full = false;
    }
}

// If seats and the estimate allow it.
void Sglang::take_arrived(Time now) {
    if (slot_.running.empty()) {
        slot_.is_full = false;
    }
    double need = arrived_.empty() ? 0.0 : running_need();
    while (!arrived_.empty() && !slot_.is_full) {
        const RequestId request = arrived_.front();
        const u32 tokens = sequences_[request].kept;
        if (seats(0) <= 0) {
            return fill(Obstacle::seats);
        }
        const u32 all = tokens + std::min(left(request), sglang::most_counted) + kv_.page();
        if (all >= static_cast<double>(kv_.free_or_unpinned()) - need || !kv_.make_free(kv_.up(tokens))) {
            if (!slot_.running.empty()) {
                fill(Obstacle::blocks);
            }
            return;
        }
        arrived_.pop_front();
        kv_.begin(request, {});
        kv_.grow(request, tokens);
        note_start(request, now, 0);
        slot_.running.push_back(request);
        need += std::min(left(request), sglang::most_counted) * (settings_.ignores_eos ? 1.0 : ratio_.now);
    }
}

void Sglang::join(Batch& batch) {
    if (drop_leaving()) {
        slot_.is_full = false;
    }
    if (slot_.running.empty() || !fits_decode()) {
        return;
    }
    add_decodes(batch);
    for (const RequestId request : slot_.running) {
        slot_.last.push_back(request);
    }
    slot_.running.clear();
}

void Sglang::decode(Time now, Batch& batch) {
    if (slot_.running.empty()) {
        return;
    }
    const std::size_t before = slot_.running.size();
    const bool some_leave = drop_leaving();
    if (slot_.running.empty()) {
        slot_.is_full = false;
        return;
    }
    if (fits_decode()) {
        ratio_.fall();
    } else if (some_leave) {
        slot_.is_full = false;
        return;   // they give their KV back when the step that runs ends
    } else {
        retract(now);
    }
    if (slot_.running.size() < before) {
        slot_.is_full = false;
    }
    if (!slot_.running.empty()) {
        add_decodes(batch);
        queue_.reads(slot_.read_by_decode);
    }
}

bool Sglang::drop_leaving() {
    std::size_t kept = 0;
    for (const RequestId request : slot_.running) {
        if (states_[request].in_flight == 0 || left(request) > 1) {
            slot_.running[kept++] = request;
        }
    }
    const bool some_leave = kept < slot_.running.size();
    slot_.running.resize(kept);
    return some_leave;
}

bool Sglang::fits_decode() {
    u64 pages = 0;
    for (const RequestId request : slot_.running) {
        pages += kv_.tokens(request) % kv_.page() == 0 ? 1 : 0;
    }
    return kv_.make_free(pages * kv_.page());
}

void Sglang::add_decodes(Batch& batch) {
    kv_.make_free(slot_.running.size() * kv_.page());
    for (const RequestId request : slot_.running) {
        const u32 context = kv_.tokens(request);
        kv_.grow(request, 1);
        batch.add({request, 1, context, true, true});
    }
}

// Of those with the fewest tokens out those with the longest prompts.
void Sglang::retract(Time now) {
    std::stable_sort(slot_.running.begin(), slot_.running.end(), [this](RequestId a, RequestId b) {
        const u32 of_a = sequences_[a].emitted;
        const u32 of_b = sequences_[b].emitted;
        return of_a != of_b ? of_a > of_b : requests_.prompt[a] < requests_.prompt[b];
    });
    bool fits = false;
    while (!fits && slot_.running.size() > 1) {
        const RequestId request = slot_.running.back();
        slot_.running.pop_back();
        take_back(request, now);
        queue_.adds_now(request);
        kv_.make_free(slot_.running.size() * sglang::tokens_after_loss);
        fits = fits_decode();
    }
    if (!fits && !fits_decode()) {   // SGLang gives it up: it will never end
        take_back(slot_.running.back(), now);
        slot_.running.pop_back();
    }
    u64 out = 0;
    u64 limits = 0;
    for (const RequestId request : slot_.running) {
        out += sequences_[request].emitted;
        limits += limit(request);
    }
    ratio_.now = std::min(1.0, static_cast<double>(out + sglang::tokens_after_loss * slot_.running.size()) /
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

// Until one would give up pages of the tree. The first has its pages.
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

std::vector<RequestId> Sglang::loses_all(Time now) {
    reasons_.plans(now);
    std::vector<RequestId> lost;
    const auto lose = [&](RequestId request) {
        if (states_[request].runs) {
            ledger_.is_preempted(request, now, sequences_[request].computed);
            leave(request);
            sequences_[request].computed = sequences_[request].kept = 0;
            lost.push_back(request);
        }
    };
    for (const RequestId request : slot_.running) {
        lose(request);
    }
    for (const Slot& slot : slots_) {
        for (const RequestId request : slot.running) {
            lose(request);
        }
    }
    std::vector<RequestId> others;   // in steps that did not end
    for (u32 at = 0; at < states_.size(); ++at) {
        State& state = states_[RequestId(at)];
        requests_.is_used(RequestId(at), -i32{state.in_flight});
        state.in_flight = 0;
        if (state.runs) {
            others.push_back(RequestId(at));
        }
    }
    std::sort(others.begin(), others.end(),
              [this](RequestId a, RequestId b) { return requests_.order(a) < requests_.order(b); });
    for (const RequestId request : others) {
        lose(request);
    }
    std::vector<RequestId> waiting(arrived_.begin(), arrived_.end());
    arrived_.clear();
    for (const RequestId request : queue_.drops_all()) {
        waiting.push_back(request);
    }
    for (const RequestId request : waiting) {
        if (ledger_.entries()[request].phase == Phase::queued) {
            reasons_.starts(request);
        }
        sequences_[request].computed = sequences_[request].kept = 0;
        lost.push_back(request);
    }
    slots_.assign(slots_.size(), {});
    flying_.clear();
    next_slot_ = 0;
    slot_ = {};
    chunk_ = RequestId::none;
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
                                  chunk > 0 && of("mixed_chunk") != 0,
                                  static_cast<sglang::Policy>(whole("schedule_policy")),
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
        {"schedule_policy", 0, 0, "who enters first",
         {"fcfs", "lpm", "lof", "dfs-weight", "hrrn", "shortest-prefill-first", "routing-key"}},
        {"radix_cache", 1, 0, "equal beginnings are worked out once", {"off", "on"}},
        {"schedule_conservativeness", 1, 0, "scales the part of their limits that outputs are expected to reach"},
        {"ignore_eos", 0, 0, "outputs are as long as their limits", {"off", "on"}},
        {"overlap", 0, 0, "an iteration is planned while the one before runs; not in a pipeline", {"off", "on"}},
    },
    true,
});

}  // namespace

}  // namespace yantra::serving
