#include "network/ports.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/ensure.hpp"
#include "engine/event_row.hpp"

namespace yantra {

PortNetwork::PortNetwork(const Grid& grid, TimeScale scale, Engine& engine, bool lowest_dimension_only,
                         const PortClasses& classes)
    : grid_(grid),
      scale_(scale),
      queue_(engine.queue),
      formula_(grid, scale, lowest_dimension_only),
      ports_(grid, scale, classes),
      use_(grid.dimensions()),
      probe_(engine.recorder()) {
    probe_.keeps(ports_.links().count(), ports_.are_classes(),
                 [this](u32 link) { return ports_.class_of(link); });
}

u32 PortNetwork::routed_to(const Message& message) const {
    ensure(message.src != message.dst, "a message to its own sender");
    if (!formula_.lowest_dimension_only()) [[likely]] {
        return message.dst.index();
    }
    const auto [d, from, to] = formula_.crossing(message);
    return message.src.index() + (to - from) * grid_.stride(d);
}

u32 PortNetwork::only_link(RankId src, RankId dst) {
    if (ports_.are_classes() || !hops_of({src, dst}).is_simple()) {
        return none;
    }
    return 0;   // its number is never read
}

// --- Messages

void PortNetwork::foresee(const Message& message, u32 dst) {
    for (Links::Stop stop{message.src.index(), none}; !stop.is(dst);) {
        const u32 link = ports_.links().next(stop, dst);
        if (ports_.has(link, ports_.links().dimension_of(link))) {
            const u32 port = ports_.of(link);
            meet(port);
            ++ports_[port].coming;
        }
    }
}

void PortNetwork::meet(u32 port) {
    if (ports_[port].held_until > queue_.now()) {
        holder_->meets(ports_[port].held_by);
        ensure(ports_[port].held_until <= queue_.now(), "a holder that does not give up its links");
    }
}

void PortNetwork::send(const Message& message, Notice arrived, Notice departed) {
    const u32 dst = routed_to(message);
    if (ports_.are_classes()) {
        foresee(message, dst);
    }
    const u32 at = take_transit(message, dst, queue_.now());
    Transit& transit = transits_[at];
    transit.arrived = arrived;
    transit.departed = departed;
    probe_.sent(at);
    comes_new(at, coming_);
}

inline u32 PortNetwork::take_transit(const Message& message, u32 dst, u64 begins_at) {
    const u32 at = transits_.take_as_left();
    Transit& transit = transits_[at];
    transit.bytes = message.bytes;
    transit.stop = {message.src.index(), none};
    transit.dst = dst;
    transit.order = message.order;
    transit.passes = false;
    transit.port = ports_.of(ports_.links().next(transit.stop, dst));
    transit.arrives = begins_at + formula_.ticks(message, message.ranks, use_);
    transit.comes = transit.head = transit.ideal_head = begins_at;
    const u32 dimension = ports_[transit.port].dimension;
    transit.ideal_tail = begins_at + ports_.busy_ticks(dimension, message.bytes);
    return at;
}

inline void PortNetwork::comes_new(u32 at, Gathered& to) {
    to.several |= ports_[transits_[at].port].newcomers++ > 0;
    to.transits.push_back(at);
    settle_later();
}

inline void PortNetwork::settle_later() {
    if (!is_settling_) {
        is_settling_ = true;
        queue_.schedule(queue_.now(), {Owner::network, settles}, 0);
    }
}

void PortNetwork::handle(const Event& event) {
    switch (static_cast<Kind>(event.kind.kind())) {
        case settles:
            settle();
            return;
        case begins:
            comes_new(event.index, landing_);
            return;
        case comes:
            comes_new(event.index, coming_);
            return;
    }
    fail("an event that the ports do not know");
}

void PortNetwork::settle() {
    if (!queue_.tick_is_over()) {
        queue_.schedule(queue_.now(), {Owner::network, settles}, 0);
        return;
    }
    is_settling_ = false;
    serve(coming_);
    serve(landing_);
}

void PortNetwork::serve(Gathered& gathered) {
    served_.swap(gathered.transits);
    gathered.transits.clear();
    const bool several = std::exchange(gathered.several, false);
    for (const u32 at : served_) {
        ports_[transits_[at].port].newcomers = 0;
    }
    if (!several) [[likely]] {
        for (const u32 at : served_) {
            serve_one(at);
        }
        return;
    }
    std::stable_sort(served_.begin(), served_.end(), [this](u32 a, u32 b) {
        const Transit& one = transits_[a];
        const Transit& other = transits_[b];
        return one.port != other.port ? one.port < other.port : one.order < other.order;
    });
    for (std::size_t from = 0; from < served_.size();) {
        const u32 port = transits_[served_[from]].port;
        bool passes = false;
        std::size_t to = from;
        for (; to < served_.size() && transits_[served_[to]].port == port; ++to) {
            passes = passes || transits_[served_[to]].passes;
        }
        if (passes && to - from > 1) {
            share(std::span<const u32>(served_).subspan(from, to - from));
        } else {
            std::for_each(served_.begin() + static_cast<std::ptrdiff_t>(from),
                          served_.begin() + static_cast<std::ptrdiff_t>(to), [this](u32 at) { serve_one(at); });
        }
        from = to;
    }
}

inline void PortNetwork::serve_one(u32 at) {
    Transit& transit = transits_[at];
    Port& port = ports_[transit.port];
    const u64 head = std::max(transit.head, port.free);
    const u64 begin = std::max(transit.comes, port.free);
    const u64 tail = begin + ports_.busy_ticks(port.dimension, transit.bytes);
    port.free = tail;
    ports_.carry(transit.port, transit.bytes, 1);
    probe_.holds(at, ports_.recorded(transit.port), begin, tail, transit.bytes);
    go_on(at, head, begin, tail);
}

// Equal parts of the rate, shortest message first.
void PortNetwork::share(std::span<const u32> transits) {
    std::vector<u32> by_size(transits.begin(), transits.end());
    std::stable_sort(by_size.begin(), by_size.end(),
                     [this](u32 a, u32 b) { return transits_[a].bytes < transits_[b].bytes; });
    const u32 port = transits_[by_size.front()].port;
    const double bytes_per_ns = grid_.dimension(ports_[port].dimension).bytes_per_ns;
    const u64 free = ports_[port].free;
    const u64 begin = std::max(transits_[by_size.front()].comes, free);
    u64 through = 0;   // bytes of those that end before
    for (std::size_t i = 0; i < by_size.size(); ++i) {
        const u64 bytes = transits_[by_size[i]].bytes;
        const u64 up_to = through + bytes * (by_size.size() - i);
        const u64 tail = begin + scale_.ticks(static_cast<double>(up_to) / bytes_per_ns);
        ports_[port].free = tail;
        through += bytes;
        ports_.carry(port, bytes, 1);
        probe_.holds(by_size[i], ports_.recorded(port), begin, tail, bytes);
        go_on(by_size[i], std::max(transits_[by_size[i]].head, free), begin, tail);
    }
}

void PortNetwork::go_on(u32 at, u64 head, u64 begins_at, u64 tail) {
    Transit& transit = transits_[at];
    const u32 d = ports_[transit.port].dimension;
    if (ports_.are_classes()) {
        --ports_[transit.port].coming;
    }
    probe_.arrives(at);
    if (!transit.departed.kind.is_none()) {
        queue_.schedule(tail, transit.departed);
        transit.departed = {};
    }
    u64 lead = ports_.latency(d);
    while (!transit.stop.is(transit.dst)) {
        const u32 link = ports_.links().next(transit.stop, transit.dst);
        const u32 next = ports_.links().dimension_of(link);
        if (!ports_.has(link, next)) {
            lead += ports_.latency(next);
            continue;
        }
        transit.port = ports_.of(link);
        transit.passes = true;
        const u64 busy = ports_.busy_ticks(next, transit.bytes);
        const auto in_one_piece = [&](u64 first, u64 last) {
            return std::max(first, last + lead - std::min(busy, last + lead));
        };
        transit.head = head + lead;
        transit.ideal_head += lead;
        transit.ideal_tail = in_one_piece(transit.ideal_head, transit.ideal_tail) + busy;
        if (next != d || grid_.dimension(d).block != Block::switched) {
            transit.comes = in_one_piece(transit.head, tail);
            queue_.schedule(std::max(transit.comes, queue_.now()), {Owner::network, comes}, at);
        } else if (transit.comes = begins_at + lead; begins_at <= queue_.now()) {
            comes_new(at, landing_);
        } else {
            queue_.schedule(begins_at, {Owner::network, begins}, at);
        }
        probe_.arrival_scheduled();
        return;
    }
    queue_.schedule(transit.arrives + (tail - transit.ideal_tail), transit.arrived);
    probe_.arrival_scheduled();
    transits_.give_back(at);
}

// --- Rounds of many

void PortNetwork::send_over_links(std::span<const OverLink> many, u64 bytes) {
    for (const OverLink& one : many) {
        send({one.src, one.dst, bytes, 1, one.order}, one.arrived, {});
    }
}

bool PortNetwork::are_alone(std::span<const OverLink> many, u64 bytes) {
    const u64 now = queue_.now();
    hops_.clear();
    bool alone = !is_settling_ && !ports_.are_classes();
    for (std::size_t i = 0; i < many.size() && alone; ++i) {
        const Hops hops = hops_of({many[i].src, many[i].dst, bytes});
        if (!hops.is_simple()) {
            alone = false;
            break;
        }
        Port& out = ports_[hops.out];
        alone = out.newcomers++ == 0 && out.free <= now;
        if (hops.in != none) {
            Port& in = ports_[hops.in];
            alone = in.newcomers++ == 0 && in.free <= now + ports_.lead_to(hops) && alone;
        }
        hops_.push_back(hops);
    }
    for (const Hops& hops : hops_) {
        ports_[hops.out].newcomers = 0;
        if (hops.in != none) {
            ports_[hops.in].newcomers = 0;
        }
    }
    return alone;
}

void PortNetwork::send_round(std::span<const OverLink> many, u64 bytes) {
    if (!are_alone(many, bytes)) {
        send_over_links(many, bytes);
        return;
    }
    const u64 now = queue_.now();
    EventRow row(queue_, static_cast<u32>(many.size()));
    for (std::size_t i = 0; i < many.size(); ++i) {
        const Hops& hops = hops_[i];
        const u64 busy = ports_.busy_ticks(hops.dimension, bytes);
        ports_[hops.out].free = now + busy;
        ports_.carry(hops.out, bytes, 1);
        if (hops.in != none) {
            ports_[hops.in].free = now + ports_.lead_to(hops) + busy;
            ports_.carry(hops.in, bytes, 1);
        }
        const u64 ticks = formula_.ticks({many[i].src, many[i].dst, bytes}, 1, use_);
        row.schedule(now + ticks, many[i].arrived.kind, many[i].arrived.index);
    }
    row.flush();
}

u64 PortNetwork::ticks_of_rounds(std::span<const OverLink> many, u64 bytes) {
    if (!are_alone(many, bytes)) {
        return 0;
    }
    const Hops& first = hops_.front();
    const auto ticks_of = [&](std::size_t i) {
        const auto [d, from, to] = formula_.crossing({many[i].src, many[i].dst, bytes});
        return formula_.known_ticks(d, grid_.hops(d, from, to), bytes);
    };
    const u64 ticks = ticks_of(0);
    for (std::size_t i = 0; i < many.size(); ++i) {
        if (hops_[i].dimension != first.dimension || ticks_of(i) != ticks) {
            return 0;
        }
    }
    return ports_.lead_to(first) + ports_.busy_ticks(first.dimension, bytes) <= ticks ? ticks : 0;
}

void PortNetwork::pass_rounds(std::span<const OverLink> many, u64 bytes, u64 rounds) {
    for (const OverLink& one : many) {
        const Hops hops = hops_of({one.src, one.dst, bytes});
        count(use_[hops.dimension], bytes, rounds);
        ports_.carry(hops, bytes, rounds);
    }
}

// --- What was carried

std::vector<LinkUse> PortNetwork::dimensions() const {
    std::vector<LinkUse> sums = use_;
    for (const Turn& turn : turns_) {
        for (std::size_t i = 0; i < turn.messages.size(); ++i) {
            const MessagesInTurn& of = turn.messages[i];
            count(sums[turn.hops[i].dimension], of.message.bytes, of.message.ranks * of.times * turn.holds);
        }
    }
    return sums;
}

std::vector<LinkUse> PortNetwork::uses() const {
    std::vector<LinkUse> uses;
    for (const Port& port : ports_) {
        uses.push_back(port.use);
    }
    for (const Turn& turn : turns_) {
        for (std::size_t i = 0; i < turn.hops.size(); ++i) {
            const MessagesInTurn& of = turn.messages[i];
            for (const u32 port : {turn.hops[i].out, turn.hops[i].in}) {
                if (port != none) {
                    count(uses[port], of.message.bytes, of.times * turn.holds);
                    uses[port].busy_ticks += turn.busy[i] * of.times * turn.holds;
                }
            }
        }
    }
    return uses;
}

NetworkReport PortNetwork::report() {
    NetworkReport found;
    found.busiest.resize(grid_.dimensions());
    const std::vector<LinkUse> all = uses();
    for (u32 port = 0; port < ports_.size(); ++port) {
        u64& most = found.busiest[ports_[port].dimension];
        most = std::max(most, all[port].busy_ticks);
    }
    return found;
}

}  // namespace yantra
