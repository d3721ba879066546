// The exchange machine: ring, direct and halving-doubling phases (astra-sim-semantics 5.2 to 5.5).
#include "sim/simulation.hpp"

namespace yantra {

namespace {

// Moves a cursor one packet on.
template <class Cursor>
void advance(Cursor& cursor, const std::vector<Run>& runs) {
    if (++cursor.done == runs[cursor.run].count) {
        cursor.done = 0;
        ++cursor.run;
    }
}

u32 peer_position(const Place& place, i32 offset, bool by_xor, bool clockwise) {
    if (by_xor) {
        return place.position ^ static_cast<u32>(offset);
    }
    const i64 n = place.size;
    i64 position = i64{place.position} + (clockwise ? offset : -offset);
    if (position >= n) {
        position -= n;
    } else if (position < 0) {
        position += n;
    }
    return static_cast<u32>(position);
}

}  // namespace

void Simulation::start_exchange(Stream& s, u32 stream, const Program& program) {
    const auto& machine = *std::get_if<ExchangeProgram>(&program.machine);
    s.exchange = {};
    s.exchange.left = machine.sends;
    s.exchange.send_bytes = machine.runs[0].bytes.of(phase_of(s).data, program.round_up);
    if (s.meeting != none) {
        open_counters(s, machine);
    }
    for (u64 i = 0; i < machine.window; ++i) {
        inject(s, stream, program);
    }
}

// Hands the next packet over to the memory agent.
void Simulation::inject(Stream& s, u32 stream, const Program& program) {
    const auto& machine = *std::get_if<ExchangeProgram>(&program.machine);
    ExchangeState& x = s.exchange;
    const u32 run = x.injected.run;
    const Run& details = machine.runs[run];
    if (x.reduce_run != run) {
        x.reduce_run = run;
        x.reduce_ticks = details.reduce.num == 0
                             ? 0
                             : reduction_ticks(details.reduce.of(phase_of(s).data, program.round_up));
    }
    ++x.pending;
    advance(x.injected, machine.runs);
    hand_over(s, stream, run, {details.from_memory, details.reduce.num != 0, details.back, false},
              details.bytes.of(phase_of(s).data, program.round_up));
}

// A reduction is an event of its own even where it takes no time.
void Simulation::exchange_handed_over(u32 stream, u32 run) {
    const Stream& s = streams_[stream];
    const Program& program = model_.programs[phase_of(s).program];
    const Run& details = std::get_if<ExchangeProgram>(&program.machine)->runs[run];
    if (details.reduce.num == 0) {
        exchange_free(stream);
        return;
    }
    const u64 ticks =
        s.exchange.reduce_run == run
            ? s.exchange.reduce_ticks
            : reduction_ticks(details.reduce.of(phase_of(s).data, program.round_up));
    local_.schedule(s.rank, ticks, reduction_done, stream, none);
}

// One more packet is free to go.
void Simulation::exchange_free(u32 stream) {
    Stream& s = streams_[stream];
    ExchangeState& x = s.exchange;
    const Program& program = model_.programs[phase_of(s).program];
    const auto& machine = *std::get_if<ExchangeProgram>(&program.machine);
    ++x.free;
    if (machine.barrier_at > 0 && x.left <= machine.barrier_at) {
        if (x.receipts < machine.barrier_receipts) {
            return;
        }
        for (u64 i = 0; i < machine.window; ++i) {
            exchange_send(s, stream, program);
        }
    } else {
        exchange_send(s, stream, program);
    }
    if (x.left == 0 && x.free == machine.window) {
        close_counters(s);
        end_phase(stream);
    }
}

void Simulation::exchange_send(Stream& s, u32 stream, const Program& program) {
    ExchangeState& x = s.exchange;
    if (x.pending == 0 || x.left == 0 || x.free == 0) {
        return;
    }
    const auto& machine = *std::get_if<ExchangeProgram>(&program.machine);
    const Run& details = machine.runs[x.sent.run];
    const bool clockwise = phase_of(s).clockwise;
    const u32 to = peer_position(s.place, details.out, details.by_xor, clockwise);
    const u64 bytes = x.send_bytes;
    --x.left;
    --x.pending;
    --x.free;
    const u32 run = x.sent.run;
    advance(x.sent, machine.runs);
    if (x.sent.run != run && x.left > 0) {
        x.send_bytes = machine.runs[x.sent.run].bytes.of(phase_of(s).data, program.round_up);
    }
    if (s.meeting == none) {
        const u32 from = peer_position(s.place, details.into, details.by_xor, clockwise);
        send(s.rank, s.place.rank_at(to), bytes, s.tag, {});
        receive(s.rank, s.place.rank_at(from), bytes, s.tag,
                {Continuation::exchange_receipt, stream, none});
        return;
    }
    const i32 out = clockwise ? details.out : -details.out;
    const i32 into = clockwise ? details.into : -details.into;
    exchange_tell(s, to, slot_of(s, machine, -out, details.by_xor), bytes);
    exchange_post(s, stream, slot_of(s, machine, into, details.by_xor));
}

void Simulation::exchange_received(u32 stream) {
    Stream& s = streams_[stream];
    ++s.exchange.receipts;
    inject(s, stream, model_.programs[phase_of(s).program]);
}

}  // namespace yantra
