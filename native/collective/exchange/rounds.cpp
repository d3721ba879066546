#include "collective/exchange/rounds.hpp"

#include <algorithm>
#include <numeric>

namespace yantra::exchange {

namespace {

constexpr u64 few_rounds = 3;                     // do not repay the check
constexpr u64 most_messages = u64{1} << 20;       // at once, so that a run can be interrupted

}  // namespace

bool Rounds::go(const EventRun& run) {
    EventQueue& queue = engine_.queue;
    const u32 mark = run.first_kind.kind();
    Packets& first = peers_.of(ChunkId(run.index(0)));
    if (first.started != Mark::phase(mark) || first.hand_over_ticks == 0) {
        return false;
    }
    hand_overs_.know_reduction(first, first.handed_over.run);
    const bool reduces = first.reduce_ticks != not_reduced;
    if (reduces && (first.reduce_ticks == shares_memory || first.reduce_ticks == 0)) {
        return false;
    }
    const u64 ticks = first.hand_over_ticks + (reduces ? first.reduce_ticks : 0);
    if (!queue.is_idle_behind_tick(ticks)) {
        return false;
    }
    std::span<const u32> chunks(run.list, run.list == nullptr ? 0 : run.count);
    if (run.list == nullptr || !queue.tick_is_over()) {
        of_round_.resize(run.count);
        run.write_indices(of_round_.data());
        if (!queue.rest_of_tick(run.first_kind, of_round_)) {
            return false;
        }
        chunks = of_round_;
    }
    if (!are_alike(chunks, mark)) {
        return false;
    }
    queue.take_rest_of_tick();
    const u64 events = reduces ? 2 : 1;
    chunks = pass(chunks, mark, ticks, events);
    queue.pass(ticks, chunks.size() * events);
    send(chunks, Mark::counter(mark));
    return true;
}

// Apart, so that the loop over ranks has the registers.
void Rounds::make_room() { seen_.resize(actors_.count()); }

// Over links, messages have one size and count at one counter.
bool Rounds::are_alike(std::span<const u32> chunks, u32 mark) {
    Packets* const packets = peers_.all();
    const Packets& first = packets[chunks[0]];
    const bool over_links = first.way.use == nullptr;
    if (seen_.empty()) [[unlikely]] {
        make_room();
    }
    const u64 round = ++round_;
    for (u32 at = 0; at < chunks.size(); ++at) {
        fetch_ahead(packets, chunks, at, static_cast<u32>(chunks.size()));
        Packets& x = packets[chunks[at]];
        const bool is_one_kind = x.send_bytes == first.send_bytes && x.to_mark == first.to_mark;
        const bool is_on_way = over_links ? x.link != none && is_one_kind : x.way.use != nullptr;
        Seen& seen = seen_[x.actor.index()];
        if (!is_on_way || seen.round == round || !is_like(first, x, mark)) [[unlikely]] {
            return false;
        }
        seen = {round, at};
    }
    return true;
}

[[gnu::always_inline]] inline bool Rounds::is_like(const Packets& first, Packets& x, u32 mark) {
    const u32 slot = Mark::counter(mark);
    if (x.started != Mark::phase(mark) || peers_.counter(x, slot) >= 0 || x.hand_over_ticks != first.hand_over_ticks) {
        return false;
    }
    hand_overs_.know_reduction(x, x.handed_over.run);
    const bool has_arrived = x.from_counter != slot && peers_.counter(x, x.from_counter) > 0;
    return x.reduce_ticks == first.reduce_ticks && !has_arrived && x.is_usual();
}

void Rounds::send(std::span<const u32> chunks, u32 slot) {
    Packets* const packets = peers_.all();
    const auto count = static_cast<u32>(chunks.size());
    Departures departures(engine_, transport_, over_links_, packets[chunks[0]], count);
    for (u32 at = 0; at < count; ++at) {
        fetch_ahead(packets, chunks, at, count);
        Packets& x = packets[chunks[at]];
        departures.add(x, x.notice());
        if (x.from_counter != slot) {
            arrives(peers_.counter(x, slot));
            is_posted(peers_.counter(x, x.from_counter));
        }
        x.receive();
        x.hand_over();
        peers_.went(x, x.send_at_once());
    }
    departures.leave_as_round();
}

std::span<const u32> Rounds::pass(std::span<const u32> chunks, u32 mark, u64 ticks, u64 events) {
    if (!passes_) {
        return chunks;
    }
    const Packets& first = peers_.of(ChunkId(chunks[0]));
    const u64 way = ticks_of_way(chunks.first(1));
    EventQueue& queue = engine_.queue;
    const u64 idle = queue.is_idle_until() - queue.now();
    if (way == 0 || idle <= ticks) {
        return chunks;
    }
    const u64 most = std::min((idle - 1 - ticks) / (ticks + way), most_messages / chunks.size());
    if (std::min<u64>(most + 1, first.rounds()) < few_rounds || !send_to_each_other(chunks, mark) ||
        ticks_of_way(chunks) != way) {
        return chunks;
    }
    const auto rounds = static_cast<u32>(std::min(most, rounds_alike(chunks) - 1));
    events += first.way.use == nullptr ? 2 : 1;   // its arrival, and the link that is free
    count(chunks, rounds);
    queue.pass(rounds * (ticks + way), rounds * chunks.size() * events);
    return order_after(chunks, rounds);
}

// If equal for all and links are free again by then; else 0.
u64 Rounds::ticks_of_way(std::span<const u32> chunks) {
    const Packets& first = peers_.of(ChunkId(chunks[0]));
    if (first.way.use != nullptr) {
        return first.way.ticks;
    }
    over_links_.clear();
    for (const u32 chunk : chunks) {
        over_links_.push_back(peers_.of(ChunkId(chunk)).over_link({}));
    }
    return transport_.ticks_of_rounds(over_links_, first.send_bytes);
}

// No two to one, at the same counter.
bool Rounds::send_to_each_other(std::span<const u32> chunks, u32 mark) {
    Packets* const packets = peers_.all();
    const Packets& first = packets[chunks[0]];
    receivers_.resize(chunks.size());
    for (std::size_t at = 0; at < chunks.size(); ++at) {
        const Packets& x = packets[chunks[at]];
        Seen& receiver = seen_[packets[x.to_chunk.index()].actor.index()];
        const bool is_one_of_them = receiver.round == round_ && chunks[receiver.at] == x.to_chunk.index();
        if (!is_one_of_them || x.to_mark != mark || x.from_counter != Mark::counter(mark) ||
            x.way.ticks != first.way.ticks) {
            return false;
        }
        receiver.round = 0;
        receivers_[at] = receiver.at;
    }
    return true;
}

u64 Rounds::rounds_alike(std::span<const u32> chunks) {
    u64 rounds = most_messages;
    for (const u32 chunk : chunks) {
        rounds = std::min<u64>(rounds, peers_.of(ChunkId(chunk)).rounds());
    }
    return std::max(rounds, u64{1});
}

void Rounds::count(std::span<const u32> chunks, u32 rounds) {
    const u64 bytes = peers_.of(ChunkId(chunks[0])).send_bytes;
    u64 messages = 0;
    for (const u32 chunk : chunks) {
        Packets& x = peers_.of(ChunkId(chunk));
        x.pass(rounds);
        if (x.way.use != nullptr) {
            const u64 of_rank = u64{rounds} * x.ranks;
            messages += of_rank;
            x.way.use->bytes += x.send_bytes * of_rank;
            x.way.use->messages += of_rank;
        }
    }
    transport_.count(messages);
    if (messages == 0) {
        transport_.pass_rounds(over_links_, bytes, rounds);
    }
}

std::span<const u32> Rounds::order_after(std::span<const u32> chunks, u32 rounds) {
    places_.resize(chunks.size());
    std::iota(places_.begin(), places_.end(), 0u);
    for (; rounds > 0; --rounds) {
        for (u32& place : places_) {
            place = receivers_[place];
        }
    }
    for (u32& place : places_) {
        place = chunks[place];
    }
    of_round_.swap(places_);
    return of_round_;
}

}  // namespace yantra::exchange
