#include "collective/runtime/exchange.hpp"

#include <algorithm>
#include <type_traits>

#include "base/ensure.hpp"
#include "collective/runtime/reduction.hpp"

namespace yantra {

namespace {

bool can_send(const Exchange::Packets& x) { return x.pending > 0 && x.left > 0 && x.free > 0; }

bool counts_receipts(const ExchangeProgram& machine) {
    return machine.barrier_at > 0 && !machine.barrier_counts_hand_overs;
}

}  // namespace

// The path of every packet comes first, inlined.

inline void Exchange::inject(ChunkId chunk, Packets& x) {
    const u32 run = x.injected.run;
    if (watcher_ != nullptr) [[unlikely]] {
        const Run& packet = x.machine->runs[run];
        const u64 reduction = packet.reduce.num == 0
                                  ? PacketWatcher::not_reduced
                                  : ticks_of_reduction(packet.reduce.of(x.data, x.round_up));
        watcher_->packet_handed_over(x.actor, chunk, x.hand_over_ticks, reduction);
    }
    ++x.pending;
    x.injected.advance(*x.machine);
    if (x.by_bus) [[unlikely]] {
        hand_over_by_bus(chunk, x, run);
        return;
    }
    engine_.of_ranks.schedule(x.actor, x.hand_over_ticks, {Owner::exchange, handed_over},
                              chunk.index(), run);
}

inline Notice Exchange::notice_of_arrival(Packets& x) {
    if (x.to_chunk.is_none()) {
        x.to_chunk = tables_.chunk(x.table, x.to_member);
    }
    if (x.to_chunk.is_none()) {
        return {{Owner::exchange, early_arrival}, tables_.keep_early({x.table, x.to_member, x.to_mark, none})};
    }
    return {{Owner::exchange, x.to_mark}, x.to_chunk.index()};
}

inline void Exchange::send_counted(ChunkId chunk, Packets& x) {
    const Notice notice = notice_of_arrival(x);
    probe_.message_sent(x.send_bytes, x.to_rank, x.tag);
    if (watcher_ != nullptr) [[unlikely]] {
        watcher_->chunk_sends(x.actor, chunk, x.number);
    }
    const u64 ranks = x.ranks;
    if (x.way.use == nullptr) {
        const Message message{RankId(x.rank), RankId(x.to_rank), x.send_bytes, ranks, order_of(x)};
        if (x.link != none) {
            transport_.pass_over(x.link, message, notice);
        } else {
            transport_.pass(message, notice);
        }
        return;
    }
    transport_.count(ranks);
    x.way.use->bytes += x.send_bytes * ranks;
    x.way.use->messages += ranks;
    u64 arrives = engine_.now() + x.way.ticks;
    if (x.machine->returns) [[unlikely]] {
        arrives = in_order(x, arrives);
    }
    engine_.queue.schedule(arrives, notice);
}

inline bool Exchange::post(ChunkId chunk, Packets& x) {
    const bool has_arrived = counter(x, x.from_counter)-- > 0;
    probe_.receive_posted(chunk, x.counters, x.from_counter, has_arrived);
    return has_arrived;
}

[[gnu::always_inline]] inline bool Exchange::send(ChunkId chunk, Packets& x) {
    --x.left;
    --x.pending;
    --x.free;
    probe_.sends(x.node);
    bool has_arrived = false;
    if (!counts_arrivals(x.table)) {
        const RankId here(x.rank);
        const RankId to(x.to_rank);
        const RankId from(x.from_rank);
        transport_.send({here.index(), to.index()}, here, to, x.send_bytes, x.tag, {}, order_of(x));
        transport_.receive({from.index(), here.index()}, here, from, x.send_bytes, x.tag,
                           {{Owner::exchange, received}, chunk.index(), none});
    } else {
        send_counted(chunk, x);
        has_arrived = post(chunk, x);
    }
    sent_one(x);
    return has_arrived;
}

// Unobservable, if nothing else is left in this tick.
inline bool Exchange::receives_at_once(const Packets& x) const {
    const bool is_recorded = !std::is_empty_v<Trail>;
    return !is_recorded && watcher_ == nullptr && x.left > 0 && x.hand_over_ticks > 0 && !x.by_bus &&
           engine_.is_last_of_tick();
}

inline void Exchange::sent_one(Packets& x) {
    if (x.sent.advance(*x.machine) && x.left > 0 && !goes_like_before(x.machine->runs[x.sent.run])) {
        resolve_peer(x);
    }
}

// A smaller message could overtake the previous one to its peer and be taken for it. Its receive is
// posted after the first has come, so arriving together changes no time.
u64 Exchange::in_order(const Packets& x, u64 arrives) {
    const Run& run = x.machine->runs[x.sent.run];
    const u32 peer = x.machine->counter_of(x.clockwise ? run.out : -run.out, run.by_xor, x.place.size);
    u64& last = state_.arrivals[x.counters + peer];
    return last = std::max(last, arrives);
}

// All are zero: every message has met its receive.
void Exchange::close_counters(Packets& x) {
    x.started = none;
    if (x.counters != none) {
        state_.free_counters[x.place.size].push_back(x.counters);
    }
}

void Exchange::resolve_peer(Packets& x) {
    const Run& run = x.machine->runs[x.sent.run];
    // Saves the division for equal shares, the usual case.
    const bool is_as_large = x.sent.run > 0 && run.bytes == (&run)[-1].bytes;
    if (!is_as_large) {
        x.send_bytes = run.bytes.of(x.data, x.round_up);
    }
    const u32 to = x.place.position_at(run.out, run.by_xor, x.clockwise);
    x.to_rank = x.place.rank_at(to);
    if (!counts_arrivals(x.table)) {
        x.from_rank = x.place.rank_at(x.place.position_at(run.into, run.by_xor, x.clockwise));
        return;
    }
    const i32 out = x.clockwise ? run.out : -run.out;
    const i32 into = x.clockwise ? run.into : -run.into;
    x.to_member = actors_.member(
        tables_.communicator_class(x.table), actors_.of(RankId(x.to_rank)),
        [&] { return x.member + (to - x.place.position) * x.place.index_stride; });
    x.to_chunk = tables_.chunk(x.table, x.to_member);
    const ExchangeProgram& machine = *x.machine;
    x.to_mark = x.phase << counter_bits | machine.counter_of(-out, run.by_xor, x.place.size);
    x.from_counter = machine.counter_of(into, run.by_xor, x.place.size);
    if (is_as_large && ways_are_alike_) {
        return;
    }
    x.way = transport_.fixed_way({RankId(x.rank), RankId(x.to_rank), x.send_bytes});
    if (x.way.ticks == 0) [[unlikely]] {
        x.way = {};   // what takes no time comes in the present tick, between other events
    }
    x.link = x.way.use == nullptr ? transport_.only_link(RankId(x.rank), RankId(x.to_rank)) : none;
}

void Exchange::handle(const Event& event) {
    const u32 mark = event.kind.kind();
    if (mark < early_arrival) [[likely]] {
        const ChunkId chunk(event.index);
        probe_.arrived(event, of(chunk).node);
        arrive(chunk, mark);
    } else if (mark == receive_ready) {
        const ChunkId chunk(event.index);
        probe_.receive_ready(event, of(chunk).node);
        receive(chunk, of(chunk));
    } else {
        probe_.arrived_early(event);
        arrive_early(event.index);
    }
}

void Exchange::handle(const RankEvent& event) { step(event); }

void Exchange::handle_of_rank(u32 batch) { step(engine_.of_ranks.begin(ActorId(batch))); }

// By reference: a copy would stall on the stores of its fields.
void Exchange::step(const RankEvent& event) {
    const ChunkId chunk(event.a);
    Packets& x = of(chunk);
    if (event.kind.kind() == handed_over) {
        probe_.handed_over(event, engine_.now(), x.node);
        if (!hand_over_ends(chunk, x, event.b)) {
            return;
        }
    } else {
        probe_.reduced(event, engine_.now(), x.node);
    }
    packet_is_free(chunk, x);
}

void Exchange::completed(const Completion& completion) {
    const ChunkId chunk(completion.a);
    switch (static_cast<Kind>(completion.kind.kind())) {
        case handed_over:
            if (hand_over_ends(chunk, of(chunk), completion.b)) {
                is_free_apart(chunk);
            }
            return;
        case reduced:
            is_free_apart(chunk);
            return;
        case received:
            receive(chunk, of(chunk));
            return;
    }
    fail("a completion that the exchange does not know");
}

// The bus charges the reduction. Upstream charges it again on delivery.
void Exchange::hand_over_by_bus(ChunkId chunk, const Packets& x, u32 run) {
    const Run& packet = x.machine->runs[run];
    const Kind then = semantics_.quirks.bus_charges_reduction_twice ? handed_over : reduced;
    bus_.cross({.actor = x.actor,
                .from_memory = packet.from_memory,
                .reduces = packet.reduce.num != 0,
                .back = packet.back,
                .bytes = packet.bytes.of(x.data, x.round_up),
                .node = x.node,
                .then = {{Owner::exchange, then}, chunk.index(), run}});
}

// A reduction is an event even if it takes no time.
inline bool Exchange::hand_over_ends(ChunkId chunk, Packets& x, u32 run) {
    know_reduction(x, run);
    if (x.reduce_ticks < shares_memory) {
        engine_.of_ranks.schedule(x.actor, x.reduce_ticks, {Owner::exchange, reduced}, chunk.index(), run);
    } else if (x.reduce_ticks == shares_memory) [[unlikely]] {
        reduce_beside_others(chunk, x, run);
    }
    return x.reduce_ticks == not_reduced;
}

[[gnu::noinline]] void Exchange::settle_reduction(Packets& x, u32 run) {
    const Run& packet = x.machine->runs[run];   // of one program, which says how it rounds
    if (packet.reduce.num == 0) {
        x.reduce_ticks = not_reduced;
    } else if (local_.enabled()) [[unlikely]] {
        x.reduce_ticks = shares_memory;
    } else {
        if (reduction_.packet != &packet || reduction_.data != x.data) {
            reduction_ = {&packet, x.data, ticks_of_reduction(packet.reduce.of(x.data, x.round_up))};
        }
        x.reduce_ticks = reduction_.ticks;
    }
}

[[gnu::noinline]] void Exchange::reduce_beside_others(ChunkId chunk, const Packets& x, u32 run) {
    const u64 bytes = x.machine->runs[run].reduce.of(x.data, x.round_up);
    local_.schedule(x.actor, ticks_of_reduction(bytes), reduction_traffic(bytes),
                    {Owner::exchange, reduced}, chunk.index());
}

// Hand-overs of received packets come after those of the initial window.
bool Exchange::passes_barrier(const Packets& x) const {
    const ExchangeProgram& machine = *x.machine;
    if (!machine.barrier_counts_hand_overs) {
        return x.receipts >= machine.barrier_receipts;
    }
    const u64 sent = machine.sends - x.left;
    return sent + x.free >= machine.window + machine.barrier_receipts;
}

[[gnu::always_inline]] inline void Exchange::packet_is_free(ChunkId chunk, Packets& x) {
    ++x.free;
    if (x.left == 0) {
        probe_.packet_waits(chunk);
    }
    if (x.left <= x.barrier_at && x.barrier_at > 0) [[unlikely]] {
        at_barrier(chunk, x);
        return;
    }
    if (can_send(x) && send(chunk, x)) {
        if (receives_at_once(x)) [[likely]] {
            engine_.queue.pass_event();
            receive(chunk, x);
            return;
        }
        has_message(chunk);
    }
    if (x.left == 0) {
        try_to_end(chunk, x);
    }
}

[[gnu::noinline]] void Exchange::is_free_apart(ChunkId chunk) { packet_is_free(chunk, of(chunk)); }

[[gnu::noinline]] void Exchange::at_barrier(ChunkId chunk, Packets& x) {
    const ExchangeProgram& machine = *x.machine;
    if (watcher_ != nullptr && counts_receipts(machine)) [[unlikely]] {
        watcher_->barrier_met(x.actor, chunk, true);
    }
    if (!passes_barrier(x)) {
        probe_.packet_waits(chunk);
        return;
    }
    probe_.barrier_passed(chunk, x.node, engine_.now());
    for (u64 most = machine.window; most > 0 && can_send(x); --most) {
        if (send(chunk, x)) {
            has_message(chunk);
        }
    }
    try_to_end(chunk, x);
}

void Exchange::try_to_end(ChunkId chunk, Packets& x) {
    if (x.left == 0 && x.free == x.machine->window) {
        probe_.last_packet(chunk, x.node, engine_.now());
        close_counters(x);
        phase_ended_ = true;
        phases_.phase_ends(chunk);
    }
}

inline void Exchange::arrive(ChunkId chunk, u32 mark) {
    Packets& x = of(chunk);
    if (x.started != mark >> counter_bits) {
        x.early = tables_.keep_early({none, none, mark, x.early});
        probe_.kept_early(x.early);
        return;
    }
    const u32 slot = mark & counter_mask;
    const bool is_awaited = ++counter(x, slot) <= 0;
    probe_.counted(chunk, x.counters, slot, is_awaited, x.node, engine_.now());
    if (is_awaited) {
        receive(chunk, x);
    }
}

void Exchange::arrive_early(u32 at) {
    probe_.kept_early(at);
    const PeerTables::Early arrival = tables_.early(at);
    const ChunkId chunk = tables_.chunk(arrival.table, arrival.member);
    if (chunk.is_none()) {
        tables_.wait_for_member(at);
        return;
    }
    probe_.receiver_joins(at, of(chunk).node);
    tables_.forget_early(at);
    arrive(chunk, arrival.mark);
}

inline void Exchange::receive(ChunkId chunk, Packets& x) {
    ++x.receipts;
    const ExchangeProgram& machine = *x.machine;
    if (counts_receipts(machine) && x.receipts <= machine.barrier_receipts) {
        probe_.packet_waits(chunk);
    }
    inject(chunk, x);
    if (watcher_ != nullptr && counts_receipts(machine)) [[unlikely]] {
        watcher_->barrier_met(x.actor, chunk, false);
    }
}

}  // namespace yantra
