#include "fold/shortcuts/closed_form.hpp"

#include <algorithm>
#include <vector>

namespace yantra {

using exchange::longest_phase;
using exchange::Steps;

std::vector<Steps> settle(const LonePhase& phase, NetworkModel& network, ClosedForm& form) {
    const NetworkCapabilities has = network.capabilities();
    if (has.known_times == nullptr && has.held_links == nullptr) {
        return {};
    }
    std::vector<Steps> settled;
    const ExchangeProgram& machine = phase.machine;
    const Place& place = phase.place;
    u64 packets = machine.sends + machine.window;
    u64 sends = machine.sends;
    for (const Run& run : machine.runs) {
        const exchange::PeersOf peers{machine, run, place, phase.clockwise};
        Steps steps;
        steps.count = std::min(run.count, packets);
        steps.sends = std::min(run.count, sends);
        packets -= steps.count;
        sends -= steps.sends;
        steps.hand_over = phase.hand_over_ticks;
        if (run.reduces()) {
            steps.reduction = phase.reduction_ticks(run.reduce.of(phase.data, phase.round_up));
        }
        if (steps.sends > 0) {
            const Message message{RankId(place.rank_at(place.position)), RankId(place.rank_at(peers.to())),
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
        steps.to = peers.counter_there();
        steps.from = peers.counter_of_from();
        settled.push_back(steps);
    }
    form.messages = machine.sends;
    return settled;
}

namespace {

// `never` if too long.
u64 sum(const std::vector<Steps>& all) {
    u64 ticks = 0;
    for (const Steps& steps : all) {
        u64 handed = 0;
        u64 sent = 0;
        if (__builtin_mul_overflow(steps.count, steps.hand_over + steps.reduction, &handed) ||
            __builtin_mul_overflow(steps.sends, steps.message, &sent) || handed > longest_phase ||
            sent > longest_phase || ticks > longest_phase) {
            return never;
        }
        ticks += handed + sent;
    }
    return ticks;
}

}  // namespace

std::optional<ClosedForm> closed_form(const LonePhase& phase, NetworkModel& network) {
    ClosedForm form;
    const ExchangeProgram& machine = phase.machine;
    const std::vector<Steps> steps = settle(phase, network, form);
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
    form.ticks = one_at_a_time ? sum(steps) : exchange::Closed(machine, steps, phase.place.size).play();
    return form.ticks <= longest_phase ? std::optional(std::move(form)) : std::nullopt;
}

PhaseMoment moment_after(const LonePhase& phase, NetworkModel& network, u64 ticks) {
    ClosedForm form;
    const std::vector<Steps> steps = settle(phase, network, form);
    return exchange::Closed(phase.machine, steps, phase.place.size).play_until(ticks);
}

bool all_peers(const ExchangeProgram& machine, const Place& place,
               const std::function<bool(u32)>& alike) {
    return std::all_of(machine.runs.begin(), machine.runs.end(), [&](const Run& run) {
        return alike(place.rank_at(place.position_at(run.out, run.by_xor, true))) &&
               alike(place.rank_at(place.position_at(run.out, run.by_xor, false)));
    });
}

}  // namespace yantra
