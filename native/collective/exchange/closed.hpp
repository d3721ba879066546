// Closed: the exchange of one member on its own clock; each message has a twin that reaches it in
// the same tick.
#pragma once

#include <algorithm>
#include <vector>

#include "base/never.hpp"
#include "collective/exchange/phase_times.hpp"
#include "engine/event_queue.hpp"

namespace yantra::exchange {

constexpr u64 longest_phase = u64{1} << 60U;   // ticks; what the clock can still add to

struct Steps {
    u64 count = 0;       // hand-overs
    u64 sends = 0;       // of them followed by a send
    u64 hand_over = 0;   // ticks, of a packet
    u64 reduction = 0;   // ticks
    u64 message = 0;     // ticks
    u32 link = none;     // over which it leaves, if others queue for it
    u64 leaves = 0;      // ticks until that is free again
    u32 to = 0;          // counter for the sender where the message arrives
    u32 from = 0;        // counter for the sender of the message then awaited
};

}  // namespace yantra::exchange

namespace yantra::exchange::inline YANTRA_RUN {

class Closed {
public:
    Closed(const ExchangeProgram& program, const std::vector<Steps>& steps, u32 size)
        : steps_(steps), waiting_(program.counters(size)), last_arrival_(program.counters(size)), progress_(program) {}

    // `never` if order within a tick decides.
    u64 play() {
        run_until(never);
        return is_possible_ ? end_ : never;
    }

    // Before what happens in that tick. Precondition: it is not over.
    PhaseMoment play_until(u64 tick) {
        run_until(tick);
        PhaseMoment moment;
        moment.progress = progress_;
        moment.waiting = waiting_;
        for (const HandOver& of : hand_overs_) {
            if (of.is_over) {
                continue;
            }
            const u64 ends = of.begun + steps_[of.run].hand_over;
            const bool is_reduced = ends < tick;
            moment.handed_over.push_back(
                {is_reduced ? ends + steps_[of.run].reduction - tick : ends - tick, of.run, is_reduced});
        }
        for (u64 number = 0; number < messages_.size(); ++number) {
            const Sent& of = messages_[number];
            if (!of.is_over) {
                moment.under_way.push_back({number, static_cast<i64>(tick) - static_cast<i64>(of.begun)});
            }
        }
        return moment;
    }

private:
    enum Happening : u32 { free, arrival, ready };

    struct HandOver {
        u64 begun;
        u32 run;
        bool is_over;
    };
    struct Sent {
        u64 begun;      // to leave
        u32 counter;    // of the receiver
        bool is_over;
    };

    void run_until(u64 tick) {
        for (u64 left = progress_.program->window; left > 0; --left) {
            hand_over();
        }
        while (is_possible_ && !queue_.empty() && (tick == never || queue_.next_time() < tick)) {
            handle(queue_.next());
        }
    }

    void handle(const Event& event) {
        if (event.kind.kind() == free) {
            hand_overs_[event.index].is_over = true;
            is_free();
            return;
        }
        if (event.kind.kind() == arrival) {
            Sent& of = messages_[event.index];
            of.is_over = true;
            if (!arrives(waiting_[of.counter])) {
                return;
            }
        }
        progress_.receive();
        receipt_tick_ = queue_.now();
        is_possible_ = is_possible_ && !(progress_.counts_receipts() && look_tick_ == queue_.now());
        hand_over();
    }

    void schedule(u64 ticks, Happening kind, std::size_t index) {
        is_possible_ = is_possible_ && ticks <= longest_phase && queue_.now() <= longest_phase;
        if (is_possible_) {
            queue_.schedule(queue_.now() + ticks, {Owner::exchange, kind}, static_cast<u32>(index));
        }
    }

    void hand_over() {
        const u32 run = progress_.hand_over();
        hand_overs_.push_back({queue_.now(), run, false});
        schedule(steps_[run].hand_over + steps_[run].reduction, free, hand_overs_.size() - 1);
    }

    void is_free() {
        if (progress_.is_at_barrier() && progress_.counts_receipts()) {
            look_tick_ = queue_.now();
            is_possible_ = is_possible_ && receipt_tick_ != queue_.now();
        }
        const Follows follows = progress_.is_free();
        for (u32 sent = 0; sent < follows.sends; ++sent) {
            send();
        }
        if (follows.ends) {
            end_ = queue_.now();
        }
    }

    void send() {
        const Steps& steps = steps_[progress_.sent.run];
        progress_.send();
        const u64 begins = leaves(steps);
        messages_.push_back({begins, steps.to, false});
        u64 arrives = begins + steps.message;
        if (progress_.program->returns && steps.link == none) {
            arrives = in_order(last_arrival_[steps.to], arrives);
        }
        schedule(arrives - queue_.now(), arrival, messages_.size() - 1);
        if (is_posted(waiting_[steps.from])) {
            schedule(0, ready, 0);
        }
    }

    u64 leaves(const Steps& steps) {
        if (steps.link == none) {
            return queue_.now();
        }
        auto link = std::find_if(free_at_.begin(), free_at_.end(), [&](const auto& of) { return of.first == steps.link; });
        if (link == free_at_.end()) {
            link = free_at_.insert(link, {steps.link, 0});
        }
        const u64 begins = std::max(queue_.now(), link->second);
        link->second = begins + steps.leaves;
        return begins;
    }

    const std::vector<Steps>& steps_;
    EventQueue queue_;
    std::vector<HandOver> hand_overs_;   // in their order
    std::vector<Sent> messages_;
    std::vector<std::pair<u32, u64>> free_at_;   // by link: tick at which it is free
    std::vector<i32> waiting_;   // arrivals less receives posted, by counter
    std::vector<u64> last_arrival_;   // by counter of the receiver
    Progress progress_;
    u64 receipt_tick_ = never;   // of the last
    u64 look_tick_ = never;
    u64 end_ = never;
    bool is_possible_ = true;
};

}  // namespace yantra::exchange
