// How a phase begins: what is settled before its first packet.
//
// Chunks of a collective, and collectives of a model's layers, are alike. So an actor's last
// beginnings are kept and copied.
#include <algorithm>
#include <limits>

#include "base/ensure.hpp"
#include "collective/runtime/exchange.hpp"

namespace yantra {

namespace {

Exchange::Cursor first_of(const ExchangeProgram& machine) {
    return {machine.runs.empty() ? 0 : static_cast<u32>(machine.runs.front().count), 0};
}

}  // namespace

void Exchange::join(ChunkId chunk, u32 node, u32 early) {
    if (state_.chunks.size() <= chunk.index()) {
        state_.chunks.resize(chunk.index() + 1);
    }
    Packets& x = of(chunk);
    x.started = none;
    x.early = early;
    x.node = node;
    for (u32 at = early; at != none; at = tables_.early(at).next) {
        probe_.receiver_joins(at, node);
    }
}

void Exchange::start(ChunkId chunk, const PhaseInput& start, const Beginning& beginning) {
    Packets& x = prepare(chunk, start);
    keep_beginning(x, beginning);
    hand_over_window(chunk, x);
}

[[gnu::always_inline]] inline void Exchange::hand_over_window(ChunkId chunk, Packets& x) {
    if (watcher_ != nullptr) [[unlikely]] {
        watcher_->exchange_starts(x.actor, chunk);
    }
    for (u64 i = 0; i < x.machine->window; ++i) {
        inject(chunk, x);
    }
}

void Exchange::keep_beginning(Packets& x, const Beginning& beginning) {
    if (!counts_arrivals(x.table) || x.machine->runs.empty()) {
        return;
    }
    know_reduction(x, 0);
    if (begun_.empty()) {
        const u32 actors = std::min(actors_.count(), most_begun);
        begun_by_each_ = std::clamp(most_begun_of_few / actors, 1U, most_begun_of_actor);
        begun_.resize(std::size_t{actors} * begun_by_each_);
        begun_last_.resize(actors);
    }
    const std::size_t actor = x.actor.index() % most_begun;
    u32& last = begun_last_[actor];
    last = last + 1 < begun_by_each_ ? last + 1 : 0;
    Begun& begun = begun_[actor * begun_by_each_ + last];
    begun.beginning = beginning;
    begun.packets = x;
}

inline const Exchange::Begun* Exchange::begun_like(const Beginning& beginning) {
    const std::size_t actor = beginning.actor.index() % most_begun;
    const Begun* const known = &begun_[actor * begun_by_each_];
    u32& last = begun_last_[actor];
    if (known[last].beginning == beginning) [[likely]] {
        return known + last;
    }
    for (u32 at = 0; at < begun_by_each_; ++at) {
        if (known[at].beginning == beginning) {
            last = at;
            return known + at;
        }
    }
    return nullptr;
}

bool Exchange::start_alike(ChunkId chunk, const Beginning& beginning, const OfChunk& own) {
    if (begun_.empty()) {
        return false;
    }
    const Begun* const begun = begun_like(beginning);
    if (begun == nullptr) {
        return false;
    }
    Packets& x = of(chunk);
    const u32 early = x.early;
    const u32 node = x.node;
    x = begun->packets;
    x.early = early;
    x.node = node;
    x.table = own.table;
    x.tag = own.tag;
    x.number = own.number;
    x.near[0] = 0;
    x.near[1] = 0;
    x.to_chunk = tables_.chunk(x.table, x.to_member);
    open_counters(chunk, x);
    hand_over_window(chunk, x);
    return true;
}

void Exchange::play_on(ChunkId chunk, const PhaseInput& start, const PhaseProgress& at) {
    Packets& x = prepare(chunk, start);
    ensure(x.machine->window == 1 && counts_arrivals(x.table), "a phase of which it is not known where it is");
    for (u64 packet = 0; packet < at.packets; ++packet) {
        x.injected.advance(*x.machine);
        --x.left;
        ++x.receipts;
        sent_one(x);
    }
    transport_.count(at.packets * x.ranks);
    const u32 run = x.injected.run;
    x.injected.advance(*x.machine);
    if (at.next != PhaseProgress::Next::arrival) {
        const bool is_handed_over = at.next == PhaseProgress::Next::reduction;
        x.pending = 1;
        engine_.of_ranks.schedule(x.actor, at.ticks, {Owner::exchange, is_handed_over ? reduced : handed_over},
                                  chunk.index(), run);
        return;
    }
    --x.left;
    transport_.pass_on({RankId(x.rank), RankId(x.to_rank), x.send_bytes, x.ranks, order_of(x)}, notice_of_arrival(x), static_cast<i64>(at.ticks));
    if (post(chunk, x)) {
        has_message(chunk);
    }
    sent_one(x);
}

void Exchange::play_on(ChunkId chunk, const PhaseInput& start, const PhaseMoment& at) {
    Packets& x = prepare(chunk, start);
    ensure(counts_arrivals(x.table), "a phase of which it is not known where it is");
    for (u64 packet = 0; packet < at.injected; ++packet) {
        x.injected.advance(*x.machine);
    }
    auto under_way = at.under_way.begin();
    for (u64 number = 0; number < at.sent; ++number) {
        if (under_way != at.under_way.end() && under_way->number == number) {
            const Message message{RankId(x.rank), RankId(x.to_rank), x.send_bytes, x.ranks, order_of(x)};
            transport_.pass_on(message, notice_of_arrival(x), under_way->since);
            ++under_way;
        } else {
            transport_.count(x.ranks);
        }
        --x.left;
        sent_one(x);
    }
    x.receipts = static_cast<u32>(at.receipts);
    x.free = static_cast<u32>(at.free);
    x.pending = static_cast<u32>(at.injected - at.sent);
    for (u32 slot = 0; slot < at.waiting.size(); ++slot) {
        counter(x, slot) += static_cast<i32>(at.waiting[slot]);
    }
    for (const PhaseMoment::HandOver& of : at.handed_over) {
        engine_.of_ranks.schedule(x.actor, of.ticks, {Owner::exchange, of.reduces ? reduced : handed_over},
                                  chunk.index(), of.run);
    }
}

Exchange::Packets& Exchange::prepare(ChunkId chunk, const PhaseInput& start) {
    if (state_.chunks.size() <= chunk.index()) {
        state_.chunks.resize(chunk.index() + 1);
    }
    Packets& x = of(chunk);
    const u32 early = x.early;
    x = {};
    x.early = early;
    x.machine = std::get_if<ExchangeProgram>(&start.program.machine);
    ensure(x.machine->sends + x.machine->window < std::numeric_limits<u32>::max(),
           "more packets in a phase than 32 bits count");
    x.actor = start.actor;
    x.rank = actors_.rank(start.actor).index();
    x.table = start.table;
    x.member = start.member;
    x.phase = start.phase;
    x.tag = start.tag;
    x.number = start.number;
    x.node = start.node;
    x.place = start.place;
    x.data = start.data;
    x.round_up = start.program.round_up;
    x.clockwise = start.clockwise;
    x.left = static_cast<u32>(x.machine->sends);
    x.injected = x.sent = first_of(*x.machine);
    x.barrier_at = static_cast<u32>(std::min<u64>(x.machine->barrier_at, none));
    x.ranks = static_cast<u32>(actors_.ranks_of(start.actor));
    x.hand_over_ticks = hand_over_ticks(start.fixed_hand_over);
    x.by_bus = parameters_.system.bus.enabled && !start.fixed_hand_over;
    if (counts_arrivals(x.table)) {
        open_counters(chunk, x);
    }
    resolve_peer(x);
    return x;
}

void Exchange::open_counters(ChunkId chunk, Packets& x) {
    const u32 size = x.place.size;
    ensure(size <= counter_mask, "a group too large for its arrival counters");
    ensure(x.phase < most_phases, "more phases than an event tells apart");
    if (!x.machine->neighbours_only) {
        if (state_.free_counters.size() <= size) {
            state_.free_counters.resize(size + 1);
        }
        if (state_.free_counters[size].empty()) {
            x.counters = static_cast<u32>(state_.counters.size());
            state_.counters.resize(state_.counters.size() + size);
        } else {
            x.counters = state_.free_counters[size].back();
            state_.free_counters[size].pop_back();
        }
        if (x.machine->returns) {
            state_.arrivals.resize(state_.counters.size());
            std::fill_n(state_.arrivals.begin() + x.counters, size, u64{0});
        }
    }
    x.started = x.phase;
    u32* link = &x.early;
    while (*link != none) {
        const u32 at = *link;
        const PeerTables::Early arrival = tables_.early(at);
        if (arrival.mark >> counter_bits == x.started) {
            const u32 slot = arrival.mark & counter_mask;
            ++counter(x, slot);
            probe_.early_counted(chunk, x.counters, slot, at);
            *link = arrival.next;
            tables_.forget_early(at);
        } else {
            link = &tables_.early(at).next;
        }
    }
}

}  // namespace yantra
