// Ports held for a phase among equal ranks (network/held_links.hpp), and their state for a
// recurring folded run, with nothing else under way there.
#include <algorithm>

#include "base/ensure.hpp"
#include "base/never.hpp"
#include "network/ports.hpp"

namespace yantra {

u64 PortNetwork::undisturbed(const Message& message) {
    if (!hops_of(message).is_simple()) {
        return never;
    }
    const auto [d, from, to] = formula_.crossing(message);
    return formula_.known_ticks(d, grid_.hops(d, from, to), message.bytes);
}

HeldLinks::Departure PortNetwork::departure(const Message& message) {
    const Hops hops = hops_of(message);
    return {hops.out, ports_.busy_ticks(hops.dimension, message.bytes)};
}

u32 PortNetwork::learn(std::span<const MessagesInTurn> messages) {
    Turn turn;
    for (const MessagesInTurn& of : messages) {
        const Hops hops = hops_of(of.message);
        turn.messages.push_back(of);
        turn.hops.push_back(hops);
        turn.busy.push_back(ports_.busy_ticks(hops.dimension, of.message.bytes));
        for (const u32 port : {hops.out, hops.in}) {
            if (port != none && std::find(turn.ports.begin(), turn.ports.end(), port) == turn.ports.end()) {
                turn.ports.push_back(port);
            }
        }
    }
    turns_.push_back(std::move(turn));
    return static_cast<u32>(turns_.size() - 1);
}

bool PortNetwork::hold(u32 learnt, u64 ticks, u32 name) {
    Turn& turn = turns_[learnt];
    const u64 now = queue_.now();
    for (const u32 at : turn.ports) {
        const Port& port = ports_[at];
        if (port.coming > 0 || port.free > now || port.held_until > now) {
            return false;
        }
    }
    for (const u32 at : turn.ports) {
        ports_[at].held_until = now + ticks;
        ports_[at].held_by = name;
    }
    ++turn.holds;
    return true;
}

void PortNetwork::give_up(u32 learnt, std::span<const u64> through) {
    Turn& turn = turns_[learnt];
    --turn.holds;
    for (const u32 port : turn.ports) {
        ports_[port].held_until = queue_.now();
    }
    for (std::size_t i = 0; i < turn.messages.size(); ++i) {
        const MessagesInTurn& of = turn.messages[i];
        const u64 times = through[i];
        count(use_[turn.hops[i].dimension], of.message.bytes, of.message.ranks * times);
        ports_.carry(turn.hops[i], of.message.bytes, times);
    }
}

void PortNetwork::carry_on(const Message& message, Notice arrived, i64 since) {
    const u64 now = queue_.now();
    const u64 begun = now - static_cast<u64>(since);
    const Hops hops = hops_of(message);
    const u64 busy = ports_.busy_ticks(hops.dimension, message.bytes);
    Port& out = ports_[hops.out];
    out.free = std::max(out.free, begun + busy);
    if (since <= 0 && hops.in != none) {
        const u32 at = take_transit(message, routed_to(message), begun);
        transits_[at].arrived = arrived;
        transits_[at].departed = {};
        ++out.coming;
        ++ports_[hops.in].coming;
        ports_.carry(hops.out, message.bytes, 1);
        probe_.sent(at);
        go_on(at, begun, begun, begun + busy);
        return;
    }
    ports_.carry(hops.out, message.bytes, 1);
    if (hops.in != none) {
        ports_[hops.in].free = std::max(ports_[hops.in].free, begun + ports_.lead_to(hops) + busy);
        ports_.carry(hops.in, message.bytes, 1);
    }
    queue_.schedule(std::max(begun + formula_.ticks(message, message.ranks, use_), now), arrived);
}

// --- What comes again

std::vector<LinkUse> PortNetwork::what_repeats() const {
    std::vector<LinkUse> all = use_;
    for (const Port& port : ports_) {
        all.push_back(port.use);
    }
    for (const Turn& turn : turns_) {
        all.push_back({0, turn.holds, 0});
    }
    return all;
}

void PortNetwork::repeat(const std::vector<LinkUse>& before, u64 times) {
    std::size_t at = 0;
    auto more = [&](LinkUse& use) {
        const LinkUse was = before[at++];
        use.bytes += (use.bytes - was.bytes) * times;
        use.messages += (use.messages - was.messages) * times;
        use.busy_ticks += (use.busy_ticks - was.busy_ticks) * times;
    };
    for (LinkUse& use : use_) {
        more(use);
    }
    for (Port& port : ports_) {
        more(port.use);
    }
    for (Turn& turn : turns_) {
        const u64 was = at < before.size() ? before[at].messages : 0;   // others were learnt since
        ++at;
        turn.holds += (turn.holds - was) * times;
    }
}

bool PortNetwork::describe(std::vector<u64>& words) const {
    const u64 now = queue_.now();
    for (u32 at = 0; at < ports_.size(); ++at) {
        const Port& port = ports_[at];
        if (port.coming > 0) {
            return false;
        }
        if (port.free > now || port.held_until > now) {
            words.push_back(at);
            words.push_back(port.free - std::min(port.free, now));
            words.push_back(port.held_until - std::min(port.held_until, now));
        }
    }
    return true;
}

// The clock has already moved.
void PortNetwork::leap(u64 ticks) {
    const u64 then = queue_.now() - ticks;
    for (Port& port : ports_) {
        port.free += port.free > then ? ticks : 0;
        port.held_until += port.held_until > then ? ticks : 0;
    }
}

}  // namespace yantra
