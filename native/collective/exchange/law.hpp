// The law of the exchange: what follows for a member of a phase when something happens to its
// packets (astra-sim-semantics 5.2 to 5.5). Pure: drivers have clock, queue and network, and repeat
// nothing of it. What holds of many at once comes last (law.test.cpp).
#pragma once

#include <algorithm>

#include "base/types.hpp"
#include "collective/plan.hpp"
#include "collective/program.hpp"

namespace yantra::exchange {

// Arrivals less receives posted, of one peer. Both return whether a message meets its receive.
inline bool arrives(i32& counter) { return ++counter <= 0; }
inline bool is_posted(i32& counter) { return counter-- > 0; }

// A smaller message would overtake the previous one to its peer and be taken for it.
inline u64 in_order(u64& last, u64 arrives) { return last = std::max(last, arrives); }

struct PeersOf {
    const ExchangeProgram& program;
    const Run& run;
    const Place& place;
    bool clockwise;

    u32 to() const { return place.position_at(run.out, run.by_xor, clockwise); }
    u32 from() const { return place.position_at(run.into, run.by_xor, clockwise); }
    u32 counter_of_from() const { return counter(run.into); }
    u32 counter_of_to() const { return counter(run.out); }
    u32 counter_there() const { return counter(-run.out); }   // of the sender, at the receiver

private:
    u32 counter(i32 offset) const {
        return program.counter_of(clockwise ? offset : -offset, run.by_xor, place.size);
    }
};

// The next packet of a program.
struct Cursor {
    u32 left = 0;   // of its run
    u32 run = 0;

    // True if it enters another run.
    bool advance(const ExchangeProgram& program) {
        if (--left > 0) [[likely]] {
            return false;
        }
        if (++run < program.runs.size()) {
            left = static_cast<u32>(program.runs[run].count);
        }
        return true;
    }
    bool operator==(const Cursor&) const = default;
};

struct Follows {
    u32 sends = 0;       // of free packets, now
    bool ends = false;   // the phase

    bool operator==(const Follows&) const = default;
};

// How far a member is in its phase.
struct Progress {
    const ExchangeProgram* program = nullptr;
    u32 left = 0;         // sends
    u32 receipts = 0;
    u32 free = 0;         // packets that wait to be sent, or for the end; at most a window
    u32 barrier_at = 0;   // as the program has it
    Cursor handed_over;
    Cursor sent;

    Progress() = default;
    explicit Progress(const ExchangeProgram& of)
        : program(&of),
          left(static_cast<u32>(of.sends)),
          barrier_at(static_cast<u32>(std::min<u64>(of.barrier_at, none))),
          handed_over{of.runs.empty() ? 0 : static_cast<u32>(of.runs.front().count), 0},
          sent(handed_over) {}

    // Of the start `program->window` times. Returns the packet's run.
    u32 hand_over() {
        const u32 run = handed_over.run;
        handed_over.advance(*program);
        return run;
    }
    // A hand-over follows.
    void receive() { ++receipts; }
    // A hand-over is over, and its reduction.
    Follows is_free() {
        ++free;
        if (sends_one()) [[likely]] {
            return {1, false};
        }
        if (waits_at_barrier()) {
            return {};
        }
        return {std::min(left, free), left == 0 && free == program->window};
    }
    // Returns whether the next is of another run.
    bool send() {
        --free;
        return send_at_once();
    }

    // Whether one send and nothing else follows the next packet that is free.
    bool sends_one() const { return left > barrier_at; }
    bool is_at_barrier() const { return barrier_at > 0 && left <= barrier_at; }
    // In one tick with a receipt, their order decides.
    bool counts_receipts() const { return barrier_at > 0 && !program->barrier_counts_hand_overs; }
    bool waits_at_barrier() const {
        if (!is_at_barrier()) {
            return false;
        }
        if (counts_receipts()) {
            return receipts < program->barrier_receipts;
        }
        return program->sends - left + free < program->window + program->barrier_receipts;
    }

    bool send_at_once() {
        --left;
        return sent.advance(*program) && left > 0;
    }
    u32 wait(u32 count) {
        u32 waiting = counts_receipts() && waits_at_barrier() ? count : 0;
        if (left == 0) {
            waiting = static_cast<u32>(std::min<u64>(count, program->window - free - 1));
        }
        free += waiting;
        return waiting;
    }
    u32 sending(u32 count) const {
        Progress then = *this;
        return then.is_free().sends == 1 && free == 0 ? std::min(count, left - (sends_one() ? barrier_at : 0)) : 0;
    }
    // Each of a receipt, its hand-over and one send, of the same runs.
    u32 rounds() const {
        return std::min({left - std::min(left, barrier_at), handed_over.left, sent.left - std::min(sent.left, 1u)});
    }
    void pass(u32 rounds) {
        receipts += rounds;
        left -= rounds;
        handed_over.left -= rounds;
        sent.left -= rounds;
    }

    bool operator==(const Progress&) const = default;
};

}  // namespace yantra::exchange
