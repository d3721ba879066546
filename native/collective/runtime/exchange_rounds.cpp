// Rounds of ranks in step that differ only in who comes when.
//
// In a ring all ranks receive, reduce and send at one tick, and again one message later, round
// after round. If they send only to each other, equal messages of equal times, and nothing else
// happens, rounds bypass the queue and counts are added at the end. A message's receiver gives the
// order of the next round. The last round goes normally (exchange_round.cpp). Trade-off: one more
// check of all ranks.
#include <algorithm>
#include <numeric>

#include "collective/runtime/exchange.hpp"

namespace yantra {

namespace {

constexpr u64 few_rounds = 3;                     // do not repay the check
constexpr u64 most_messages = u64{1} << 20;       // at once, so that a run can be interrupted

// Rounds in which it sends as usual and nothing of its packets changes.
u64 usual_rounds(const Exchange::Packets& x) {
    const u32 last = std::max(x.barrier_at, 1u);
    return std::min({x.left - std::min(x.left, last), x.injected.left, x.sent.left - std::min(x.sent.left, 1u)});
}

}  // namespace

std::span<const u32> Exchange::pass_rounds(std::span<const u32> chunks, const Round& round) {
    if (!passes_rounds_) {
        return chunks;
    }
    const Packets& first = of(ChunkId(chunks[0]));
    const u64 way = ticks_of_way(chunks.first(1));
    EventQueue& queue = engine_.queue;
    const u64 idle = queue.is_idle_until() - queue.now();
    if (way == 0 || idle <= round.ticks) {
        return chunks;
    }
    const u64 pass = std::min((idle - 1 - round.ticks) / (round.ticks + way), most_messages / chunks.size());
    if (std::min(pass + 1, usual_rounds(first)) < few_rounds || !send_to_each_other(chunks, round.mark) ||
        ticks_of_way(chunks) != way) {
        return chunks;
    }
    const auto rounds = static_cast<u32>(std::min(pass, rounds_alike(chunks) - 1));
    count_rounds(chunks, rounds);
    const bool over_links = first.way.use == nullptr;
    queue.pass(rounds * (round.ticks + way), rounds * chunks.size() * (round.events + (over_links ? 1 : 0)));
    places_.resize(chunks.size());
    std::iota(places_.begin(), places_.end(), 0u);
    for (u32 passed = 0; passed < rounds; ++passed) {
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

// If equal for all and links are free again by then; else 0.
u64 Exchange::ticks_of_way(std::span<const u32> chunks) {
    const Packets& first = of(ChunkId(chunks[0]));
    if (first.way.use != nullptr) {
        return first.way.ticks;
    }
    over_links_.clear();
    for (const u32 chunk : chunks) {
        over_links_.push_back(over_link(of(ChunkId(chunk)), {}));
    }
    return transport_.ticks_of_rounds(over_links_, first.send_bytes);
}

// No two to one, at the same counter. Finds the receivers.
bool Exchange::send_to_each_other(std::span<const u32> chunks, u32 mark) {
    Packets* const packets = state_.chunks.data();
    const Packets& first = packets[chunks[0]];
    receivers_.resize(chunks.size());
    for (std::size_t at = 0; at < chunks.size(); ++at) {
        Packets& x = packets[chunks[at]];
        Seen& receiver = seen_[packets[x.to_chunk.index()].actor.index()];
        const bool is_one_of_them = receiver.round == round_ && chunks[receiver.at] == x.to_chunk.index();
        if (!is_one_of_them || x.to_mark != mark || x.from_counter != (mark & counter_mask) ||
            x.way.ticks != first.way.ticks) {
            return false;
        }
        receiver.round = 0;
        receivers_[at] = receiver.at;
    }
    return true;
}

u64 Exchange::rounds_alike(std::span<const u32> chunks) const {
    u64 rounds = most_messages;
    for (const u32 chunk : chunks) {
        rounds = std::min(rounds, usual_rounds(state_.chunks[chunk]));
    }
    return std::max(rounds, u64{1});
}

void Exchange::count_rounds(std::span<const u32> chunks, u32 rounds) {
    const u64 bytes = of(ChunkId(chunks[0])).send_bytes;
    u64 messages = 0;
    for (const u32 chunk : chunks) {
        Packets& x = of(ChunkId(chunk));
        x.receipts += rounds;
        x.left -= rounds;
        x.injected.left -= rounds;
        x.sent.left -= rounds;
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

}  // namespace yantra
