// How prompts enter SGLang's engine.
#include "serving/engines/sglang.hpp"

namespace yantra::serving {

bool Sglang::prefill(Time now, Batch& batch) {
    if (slot_.running.empty()) {
        slot_.is_full = false;
    }
    if (chunk_.is_none()) {
        if (queue_.empty()) {
            return false;
        }
        if (!slot_.is_full && seats(0) <= 0) {
            fill(Obstacle::seats);
        }
        if (slot_.is_full) {
            reasons_.stops(slot_.full_because);
            return false;
        }
    }
    queue_.orders(slot_.running);
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

void Sglang::begin_pass() {
    const auto mixed = static_cast<i64>(settings_.is_mixed ? slot_.running.size() : 0);
    room_.input = settings_.max_prefill_tokens - mixed;
    room_.chunk = settings_.chunked_prefill_size - mixed;
    room_.total = static_cast<double>(mixed) + running_need();
    room_.current = mixed;
    room_.entries.clear();
    room_.cut = RequestId::none;
    room_.knows_needs = false;
    room_.needs.clear();
}

void Sglang::go_on_with_chunk() {
    const u32 has = kv_.tokens(chunk_);
    const u32 rest = known_tokens(chunk_) - has;
    i64 most = std::min(room_.chunk, static_cast<i64>(std::max(room_.left(kv_.free_or_unpinned()), 0.0)));
    if (most <= 0) {
        most = room_.chunk;
    }
    most = std::min(most, queue_.chunk_beside_shorter(rest, settings_.is_chunked() ? room_.chunk : 0));
    // SGLang would fail where there are no pages.
    most = std::min(most, static_cast<i64>(kv_.free_or_unpinned()) + (kv_.up(has) - has));
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
    for (std::size_t at = 0; at < queue_.size(); ++at) {
        if (room_.has_any(kv_.free_or_unpinned()) && room_.is_spent(settings_.is_chunked())) {
            return reasons_.stops(Obstacle::tokens);
        }
        if (static_cast<i64>(room_.entries.size()) >= seats(with_seat)) {
            fill(Obstacle::seats);
        }
        if (slot_.is_full) {
            return reasons_.stops(slot_.full_because);
        }
        Verdict verdict = enter(queue_[at]);
        if (verdict == Verdict::enters) {
            verdict = !room_.has_any(kv_.free_or_unpinned()) ? Verdict::no_tokens : room_.is_spent(settings_.is_chunked()) ? Verdict::stop : Verdict::enters;
        }
        if (verdict == Verdict::no_tokens) {
            if (!room_.entries.empty() || !slot_.running.empty()) {
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
    if (static_cast<double>(tokens + std::min(left(request), sglang::most_counted) + page) >= room_.left(kv_.free_or_unpinned())) {
        return Verdict::no_tokens;
    }
    if (!settings_.is_chunked() && !room_.entries.empty() && kv_.up(tokens) >= room_.input) {
        return Verdict::stop;
    }
    const bool is_cut = settings_.is_chunked() && kv_.up(tokens) > room_.chunk;
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

Sglang::Verdict Sglang::enter_by_needs(RequestId request) {
    const u32 tokens = known_tokens(request);
    const i64 pages = kv_.up(tokens) + kv_.page();
    if (pages > room_.left_now(kv_.free_or_unpinned()) || static_cast<double>(pages) > room_.left(kv_.free_or_unpinned()) ||
        !fits_needs(request, static_cast<u32>(pages))) {
        return Verdict::no_tokens;
    }
    kv_.begin(request, {});
    const bool is_cut = settings_.is_chunked() && tokens > room_.chunk;
    take(request, is_cut ? static_cast<u32>(room_.chunk) : tokens, is_cut, true);
    return Verdict::enters;
}

bool Sglang::fits_needs(RequestId request, u32 tokens) {
    add_need(request, room_.knows_needs);
    if (!room_.knows_needs) {
        room_.knows_needs = true;
        for (const RequestId other : slot_.running) {
            add_need(other, false);
        }
        for (const sglang::PrefillRoom::Entry& entry : room_.entries) {
            add_need(entry.request, false);
        }
        std::stable_sort(room_.needs.begin(), room_.needs.end(),
                         [](const auto& a, const auto& b) { return a.left < b.left; });
    }
    const auto room = static_cast<double>(room_.left_now(kv_.free_or_unpinned()) - i64{tokens});
    double freed = 0.0;
    auto those = static_cast<double>(room_.needs.size());
    for (const sglang::PrefillRoom::Need& need : room_.needs) {
        if (room + freed - need.left * those <= those) {
            return false;
        }
        freed += static_cast<double>(need.held);
        those -= 1.0;
    }
    return true;
}

void Sglang::add_need(RequestId request, bool sorted) {
    const sglang::PrefillRoom::Need need{static_cast<double>(left(request)), known_tokens(request)};
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
    const i64 pages = kv_.up(tokens);
    const u32 to_come = is_cut ? 0 : std::min(limit(request), sglang::most_counted);
    room_.total += static_cast<double>(pages + kv_.page() + to_come);
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
    for (const sglang::PrefillRoom::Entry& entry : room_.entries) {
        asked += entry.tokens;
    }
    kv_.make_free(asked);
    slot_.last_cut = room_.cut;
    if (!room_.cut.is_none()) {
        chunk_ = room_.cut;
        chunk_has_grown_ = true;
    }
    for (const auto& [request, tokens, is_new] : room_.entries) {
        const u32 context = kv_.tokens(request);
        if (is_new) {
            queue_.drops_first();
            note_start(request, now, context);
            sequences_[request].computed = context;
        }
        kv_.grow(request, tokens);
        batch.add({request, tokens, context, false, request != room_.cut});
        slot_.last.push_back(request);
    }
    if (settings_.is_mixed && !slot_.running.empty()) {
        join(batch);
    }
    slot_.last_read = batch.tokens;
    queue_.reads(batch.tokens);
}

}  // namespace yantra::serving
