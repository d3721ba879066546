// The exchange machine: ring, direct and halving-doubling phases (astra-sim-semantics 5.2 to 5.5).
#include "sim/simulation.hpp"

namespace yantra {

namespace {

// Moves a cursor one packet on; true if that led to another run.
template <class Cursor>
bool advance(Cursor& cursor, const std::vector<Run>& runs) {
    if (++cursor.done < runs[cursor.run].count) {
        return false;
    }
    cursor.done = 0;
    ++cursor.run;
    return true;
}

}  // namespace

bool Simulation::can_send(const ExchangeState& x) {
    return x.pending > 0 && x.left > 0 && x.free > 0;
}

u64 Simulation::hand_over_ticks(const Phase& phase) const {
    return phase.fixed_hand_over ? model_.system.group_hand_over : model_.system.endpoint_delay;
}

void Simulation::start_exchange(u32 stream, const Program& program) {
    Stream& s = streams_[stream];
    s.exchange = {};
    ExchangeState& x = s.exchange;
    x.machine = std::get_if<ExchangeProgram>(&program.machine);
    x.data = phase_of(s).data;
    x.round_up = program.round_up;
    x.clockwise = phase_of(s).clockwise;
    x.left = x.machine->sends;
    x.hand_over_ticks = hand_over_ticks(phase_of(s));
    if (counts_arrivals(s)) {
        open_counters(s);
    }
    resolve_peer(s);
    for (u64 i = 0; i < x.machine->window; ++i) {
        inject(s, stream);
    }
    if (folded_) [[unlikely]] {
        note_window(s, stream);
    }
}

// Hands the next packet over to the memory agent.
void Simulation::inject(Stream& s, u32 stream) {
    ExchangeState& x = s.exchange;
    const u32 run = x.injected.run;
    const Run& details = x.machine->runs[run];
    ++x.pending;
    advance(x.injected, x.machine->runs);
    if (!model_.system.bus.enabled) {
        local_.schedule(s.rank, x.hand_over_ticks, hand_over_done, stream, run);
        return;
    }
    hand_over(s, stream, run, {details.from_memory, details.reduce.num != 0, details.back, false},
              details.bytes.of(x.data, x.round_up));
}

// A reduction is an event of its own even where it takes no time.
void Simulation::exchange_handed_over(u32 stream, u32 run) {
    ExchangeState& x = streams_[stream].exchange;
    const Run& details = x.machine->runs[run];
    if (details.reduce.num == 0) {
        exchange_free(stream);
        return;
    }
    if (x.reduce_run != run) {
        x.reduce_run = run;
        x.reduce_ticks = reduction_ticks(details.reduce.of(x.data, x.round_up));
    }
    local_.schedule(streams_[stream].rank, x.reduce_ticks, reduction_done, stream, none);
}

// Hand-overs of received packets come after those of the window of own ones.
bool Simulation::passes_barrier(const ExchangeState& x) {
    const ExchangeProgram& machine = *x.machine;
    if (!machine.barrier_counts_hand_overs) {
        return x.receipts >= machine.barrier_receipts;
    }
    const u64 sent = machine.sends - x.left;
    return sent + x.free >= machine.window + machine.barrier_receipts;
}

// One more packet is free to go.
void Simulation::exchange_free(u32 stream) {
    Stream& s = streams_[stream];
    ExchangeState& x = s.exchange;
    const ExchangeProgram& machine = *x.machine;
    ++x.free;
    if constexpr (recorded_run) {
        if (x.left == 0) {
            record_waiting_packet(stream);
        }
    }
    if (machine.barrier_at > 0 && x.left <= machine.barrier_at) {
        if (folded_ && !machine.barrier_counts_hand_overs) {
            meet_barrier(s.rank, stream, true);
        }
        if (!passes_barrier(x)) {
            if constexpr (recorded_run) {
                record_waiting_packet(stream);
            }
            return;
        }
        if constexpr (recorded_run) {
            record_passing(stream);
        }
        for (u64 i = 0; i < machine.window && can_send(x); ++i) {
            exchange_send(s, stream);
        }
    } else if (can_send(x)) {
        exchange_send(s, stream);
    }
    if (x.left == 0 && x.free == machine.window) {
        if constexpr (recorded_run) {
            record_last_packet(stream);
        }
        close_counters(s);
        proceed(stream);
    }
}

void Simulation::exchange_send(Stream& s, u32 stream) {
    ExchangeState& x = s.exchange;
    --x.left;
    --x.pending;
    --x.free;
    if constexpr (recorded_run) {
        record_sender(s);
    }
    if (!counts_arrivals(s)) {
        send(s.rank, x.to_rank, x.send_bytes, s.tag, {});
        receive(s.rank, x.from_rank, x.send_bytes, s.tag,
                {Continuation::exchange_receipt, stream, none});
    } else {
        exchange_tell(s);
        exchange_post(s, stream);
    }
    if (advance(x.sent, x.machine->runs) && x.left > 0) {
        resolve_peer(s);
    }
}

void Simulation::exchange_received(u32 stream) {
    Stream& s = streams_[stream];
    ++s.exchange.receipts;
    if constexpr (recorded_run) {
        record_receipt(stream);
    }
    if (folded_) [[unlikely]] {
        note_receipt(s, stream);
    }
    inject(s, stream);
}

}  // namespace yantra
