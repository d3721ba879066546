#include "fold/shortcuts/closed_form.hpp"

#include <algorithm>

#include "base/vector.hpp"
#include "engine/event_queue.hpp"

namespace yantra {

Vector<PhaseSteps> settle(const LonePhase& phase, NetworkModel& network, ClosedForm& form) {
    const NetworkCapabilities has = network.capabilities();
    if (has.known_times == nullptr && has.held_links == nullptr) {
        return {};
    }
    Vector<PhaseSteps> settled;
    const ExchangeProgram& machine = phase.machine;
    const Place& place = phase.place;
    auto counter = [&](i32 offset, bool by_xor) {
        return machine.counter_of(phase.clockwise ? offset : -offset, by_xor, place.size);
    };
    u64 packets = machine.sends + machine.window;
    u64 sends = machine.sends;
    for (const Run& run : machine.runs) {
        PhaseSteps steps;
        steps.count = std::min(run.count, packets);
        steps.sends = std::min(run.count, sends);
        packets -= steps.count;
        sends -= steps.sends;
        steps.hand_over = phase.hand_over_ticks;
        if (run.reduce.num != 0) {
            steps.reduction = phase.reduction_ticks(run.reduce.of(phase.data, phase.round_up));
        }
        if (steps.sends > 0) {
            const u32 to = place.position_at(run.out, run.by_xor, phase.clockwise);
            const Message message{RankId(place.rank_at(place.position)), RankId(place.rank_at(to)),
                                  run.bytes.of(phase.data, phase.round_up)};
            if (has.known_times != nullptr) {
                steps.message = has.known_times->alone(message, steps.sends, form.use);
            } else {
                HeldLinks& links = *has.held_links;
                steps.message = links.undisturbed(message);
                if (steps.message == never) {
                    return {};
                }
                const HeldLinks::Departure departure = links.departure(message);
                steps.link = departure.link;
                steps.leaves = departure.ticks;
                form.on_links.push_back({message, steps.sends});
            }
        }
        steps.to = counter(-run.out, run.by_xor);
        steps.from = counter(run.into, run.by_xor);
        settled.push_back(steps);
    }
    form.messages = machine.sends;
    return settled;
}

namespace {

using Steps = PhaseSteps;
constexpr u64 longest = longest_phase;

// `never` if too long.
u64 sum(const Vector<Steps>& all) {
    u64 ticks = 0;
    for (const Steps& steps : all) {
        u64 handed = 0;
        u64 sent = 0;
        if (__builtin_mul_overflow(steps.count, steps.hand_over + steps.reduction, &handed) ||
            __builtin_mul_overflow(steps.sends, steps.message, &sent) || handed > longest ||
            sent > longest || ticks > longest) {
            return never;
        }
        ticks += handed + sent;
    }
    return ticks;
}

// By Exchange's rules, from the phase's start.
class Clocked {
public:
    Clocked(const ExchangeProgram& machine, const Vector<Steps>& steps, u32 size)
        : machine_(machine), steps_(steps), waiting_(machine.counters(size)), left_(machine.sends) {}

    // `never` if order within a tick decides.
    u64 play() {
        for (u64 i = 0; i < machine_.window; ++i) {
            inject();
        }
        while (possible_ && !queue_.empty()) {
            handle(queue_.next());
        }
        return possible_ ? end_ : never;
    }

    // Before what happens in that tick. Precondition: it is not over.
    PhaseMoment play_until(u64 tick) {
        for (u64 i = 0; i < machine_.window; ++i) {
            inject();
        }
        while (queue_.next_time() < tick) {
            handle(queue_.next());
        }
        PhaseMoment moment;
        moment.injected = handed_.size();
        moment.sent = sent_messages_.size();
        moment.receipts = receipts_;
        moment.free = free_;
        moment.waiting = waiting_;
        for (const HandOver& of : handed_) {
            if (of.is_over) {
                continue;
            }
            const u64 ends = of.begun + steps_[of.run].hand_over;
            const bool is_reduced = ends < tick;
            moment.handed_over.push_back(
                {is_reduced ? ends + steps_[of.run].reduction - tick : ends - tick, of.run, is_reduced});
        }
        for (u64 number = 0; number < sent_messages_.size(); ++number) {
            const Sent& of = sent_messages_[number];
            if (!of.is_over) {
                moment.under_way.push_back({number, static_cast<i64>(tick) - static_cast<i64>(of.begun)});
            }
        }
        return moment;
    }

private:
    enum Kind : u32 { handed_over, arrival, ready };
    struct Cursor {
        u64 done = 0;
        u32 run = 0;
    };

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

    void handle(const Event& event) {
        if (event.kind.kind() == handed_over) {
            handed_[event.index].is_over = true;
            free_one();
            return;
        }
        if (event.kind.kind() == arrival) {
            Sent& of = sent_messages_[event.index];
            of.is_over = true;
            if (++waiting_[of.counter] > 0) {
                return;
            }
        }
        receive();
    }

    const Steps& advance(Cursor& cursor) const {
        const Steps& steps = steps_[cursor.run];
        if (++cursor.done == steps.count) {
            cursor = {0, cursor.run + 1};
        }
        return steps;
    }

    void schedule(u64 ticks, Kind kind, u32 index) {
        possible_ = possible_ && ticks <= longest && queue_.now() <= longest;
        if (possible_) {
            queue_.schedule(queue_.now() + ticks, {Owner::exchange, kind}, index);
        }
    }

    void inject() {
        handed_.push_back({queue_.now(), injected_.run, false});
        const Steps& steps = advance(injected_);
        schedule(steps.hand_over + steps.reduction, handed_over, static_cast<u32>(handed_.size() - 1));
    }

    void receive() {
        ++receipts_;
        receipt_tick_ = queue_.now();
        possible_ = possible_ && !(counts_receipts() && look_tick_ == queue_.now());
        inject();
    }

    bool counts_receipts() const { return !machine_.barrier_counts_hand_overs; }

    bool passes_barrier() {
        if (counts_receipts()) {
            look_tick_ = queue_.now();
            possible_ = possible_ && receipt_tick_ != queue_.now();
            return receipts_ >= machine_.barrier_receipts;
        }
        return machine_.sends - left_ + free_ >= machine_.window + machine_.barrier_receipts;
    }

    void free_one() {
        ++free_;
        if (machine_.barrier_at > 0 && left_ <= machine_.barrier_at) {
            if (!passes_barrier()) {
                return;
            }
            for (u64 i = 0; i < machine_.window && left_ > 0 && free_ > 0; ++i) {
                send();
            }
        } else if (left_ > 0) {
            send();
        }
        if (left_ == 0 && free_ == machine_.window) {
            end_ = queue_.now();
        }
    }

    void send() {
        --left_;
        --free_;
        const Steps& steps = advance(sent_);
        const u64 begins = leaves(steps);
        sent_messages_.push_back({begins, steps.to, false});
        schedule(begins - queue_.now() + steps.message, arrival, static_cast<u32>(sent_messages_.size() - 1));
        if (waiting_[steps.from]-- > 0) {
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

    const ExchangeProgram& machine_;
    const Vector<Steps>& steps_;
    EventQueue queue_;
    Vector<HandOver> handed_;        // in their order
    Vector<Sent> sent_messages_;
    Vector<std::pair<u32, u64>> free_at_;   // by link: tick at which it is free
    Vector<i64> waiting_;   // arrivals less receives posted, by counter
    Cursor injected_;
    Cursor sent_;
    u64 left_;
    u64 receipts_ = 0;
    u64 free_ = 0;
    u64 receipt_tick_ = never;   // of the last
    u64 look_tick_ = never;
    u64 end_ = never;
    bool possible_ = true;
};

}  // namespace

std::optional<ClosedForm> closed_form(const LonePhase& phase, NetworkModel& network) {
    ClosedForm form;
    const ExchangeProgram& machine = phase.machine;
    const Vector<Steps> steps = settle(phase, network, form);
    if (steps.empty()) {
        return std::nullopt;
    }
    const bool one_at_a_time =
        machine.window == 1 && machine.barrier_at == 0 &&
        std::all_of(steps.begin(), steps.end(), [](const Steps& s) { return s.to == s.from; });
    const bool order_is_known =
        form.on_links.empty() ||
        std::none_of(steps.begin(), steps.end(), [](const Steps& s) { return s.sends > 0 && s.link == none; });
    if (!one_at_a_time && !order_is_known) {
        return std::nullopt;
    }
    form.in_turn = one_at_a_time;
    form.ticks = one_at_a_time ? sum(steps) : Clocked(machine, steps, phase.place.size).play();
    return form.ticks <= longest ? std::optional(std::move(form)) : std::nullopt;
}

PhaseProgress progress_after(const LonePhase& phase, NetworkModel& network, u64 ticks) {
    ClosedForm form;
    u64 packets = 0;
    for (const Steps& steps : settle(phase, network, form)) {
        // What ends in the present tick has not ended.
        const u64 each = steps.hand_over + steps.reduction + steps.message;
        const u64 before = ticks == 0 ? 0 : std::min(steps.sends, (ticks - 1) / std::max<u64>(each, 1));
        packets += before;
        ticks -= before * each;
        if (before == steps.count) {
            continue;
        }
        if (ticks <= steps.hand_over) {
            return {packets, PhaseProgress::Next::hand_over, steps.hand_over - ticks};
        }
        ticks -= steps.hand_over;
        if (ticks <= steps.reduction) {
            return {packets, PhaseProgress::Next::reduction, steps.reduction - ticks};
        }
        return {packets, PhaseProgress::Next::arrival, ticks - steps.reduction};
    }
    fail("a phase that is over");
}

PhaseMoment moment_after(const LonePhase& phase, NetworkModel& network, u64 ticks) {
    ClosedForm form;
    const Vector<Steps> steps = settle(phase, network, form);
    return Clocked(phase.machine, steps, phase.place.size).play_until(ticks);
}

bool all_peers(const ExchangeProgram& machine, const Place& place,
               const std::function<bool(u32)>& alike) {
    return std::all_of(machine.runs.begin(), machine.runs.end(), [&](const Run& run) {
        return alike(place.rank_at(place.position_at(run.out, run.by_xor, true))) &&
               alike(place.rank_at(place.position_at(run.out, run.by_xor, false)));
    });
}

}  // namespace yantra
