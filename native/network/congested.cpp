#include "network/congested.hpp"

#include "base/ensure.hpp"

namespace yantra {

namespace {

u32 links_per_rank(const Dimension& dimension) {
    return dimension.block == Block::fully_connected ? dimension.size : 2;
}

}  // namespace

CongestedNetwork::CongestedNetwork(const Grid& grid, TimeScale scale, EventQueue& queue)
    : grid_(grid), scale_(scale), queue_(queue) {
    u64 total = 0;
    u64 devices = grid.ranks();
    for (u32 d = 0; d < grid.dimensions(); ++d) {
        first_link_.push_back(static_cast<u32>(total));
        first_switch_.push_back(static_cast<u32>(devices));
        total += u64{grid.groups(d)} * links_per_group(d);
        if (const BlockTable* table = grid.table(d); table != nullptr) {
            devices += u64{grid.groups(d)} * table->switches();
            ensure(table->ranks() + table->switches() < none >> dimension_bits, "too many switches");
        }
        ensure(total < none && devices < none, "more links than a 32-bit index holds");
        links_.resize(total);
        for (u32 link = first_link_[d]; link < total; ++link) {
            links_[link].dimension = d;
        }
    }
    times_.resize(grid.dimensions());
}

u32 CongestedNetwork::links_per_group(u32 d) const {
    const Dimension& dimension = grid_.dimension(d);
    const BlockTable* table = grid_.table(d);
    return table != nullptr ? table->links() : dimension.size * links_per_rank(dimension);
}

void CongestedNetwork::send(u32 src, u32 dst, u64 bytes, Notice arrived, Notice departed) {
    ensure(src != dst, "a message to its own sender");
    const u32 message = transits_.take_as_left();
    Transit& transit = transits_[message];
    transit.bytes = bytes;
    transit.at = src;
    transit.dst = dst;
    transit.in_switch_of = none;
    transit.arrived = arrived;
    transit.departed = departed;
    if constexpr (recorded_run) {
        record_send(message);
    }
    offer(message);
}

void CongestedNetwork::on_event(u32 kind, u32 index) {
    if (kind == link_free) {
        free_link(index);
    } else {
        offer(index);
    }
}

// Moves a message one hop along and returns the link it takes. It crosses dimensions in ascending
// order; around a ring it goes clockwise unless the other way is shorter.
u32 CongestedNetwork::step(Transit& transit) const {
    const bool in_switch = transit.in_switch_of != none;
    const u32 d = in_switch ? transit.in_switch_of & ((1u << dimension_bits) - 1)
                            : grid_.lowest_difference(transit.at, transit.dst);
    const Dimension& dimension = grid_.dimension(d);
    const u32 rank = transit.at;
    const u32 from = grid_.coordinate(rank, d);
    u32 to = grid_.coordinate(transit.dst, d);
    u32 link = first_link_[d];
    switch (dimension.block) {
        case Block::fully_connected:
            link += rank * dimension.size + to;
            break;
        case Block::switched:
            if (!in_switch) {
                transit.in_switch_of = d;
                return link + rank * 2;
            }
            transit.in_switch_of = none;
            transit.at += (to - from) * grid_.stride(d);
            return link + transit.at * 2 + 1;
        case Block::table:
            return step_in_table(transit, d);
        case Block::ring: {
            const u32 clockwise = to >= from ? to - from : to + dimension.size - from;
            const bool backwards = dimension.size - clockwise < clockwise;
            link += rank * 2 + (backwards ? 1 : 0);
            to = backwards ? (from == 0 ? dimension.size - 1 : from - 1)
                           : (from + 1 == dimension.size ? 0 : from + 1);
            break;
        }
    }
    transit.at += (to - from) * grid_.stride(d);
    return link;
}

u32 CongestedNetwork::step_in_table(Transit& transit, u32 d) const {
    const BlockTable& table = *grid_.table(d);
    const u32 here = grid_.coordinate(transit.at, d);
    const u32 device = transit.in_switch_of == none ? here : transit.in_switch_of >> dimension_bits;
    const u32 taken = table.next_link(device, grid_.coordinate(transit.dst, d));
    const u32 link = first_link_[d] + grid_.group(transit.at, d) * table.links() + taken;
    const u32 next = table.to(taken);
    if (next < table.ranks()) {
        transit.at += (next - here) * grid_.stride(d);
        transit.in_switch_of = none;
    } else {
        transit.in_switch_of = next << dimension_bits | d;
    }
    return link;
}

void CongestedNetwork::offer(u32 message) {
    const u32 index = step(transits_[message]);
    transits_[message].behind = none;
    if constexpr (recorded_run) {
        record_offer(message);
    }
    Link& link = links_[index];
    if (!link.busy) {
        transmit(index, message);
    } else if (link.first == none) {
        link.first = link.last = message;
    } else {
        transits_[link.last].behind = message;
        link.last = message;
    }
}

void CongestedNetwork::transmit(u32 index, u32 message) {
    Link& link = links_[index];
    link.busy = true;
    Transit& transit = transits_[message];
    const Times& times = times_of(link.dimension, transit.bytes);
    const u64 now = queue_.now();
    if constexpr (recorded_run) {
        record_transmission(index, message);
    }
    link.use.bytes += transit.bytes;
    link.use.messages += 1;
    link.use.busy_ticks += times.busy;
    if (transit.departed.kind != none) {
        queue_.schedule(now + times.busy, transit.departed.kind, transit.departed.index);
        transit.departed = {};
    }
    // Arrival first, then the link: with no latency the next message finds the link still busy.
    if (transit.at == transit.dst && transit.in_switch_of == none) {
        queue_.schedule(now + times.hop, transit.arrived.kind, transit.arrived.index);
        transits_.give_back(message);
    } else {
        queue_.schedule(now + times.hop, hop_done, message);
    }
    queue_.schedule(now + times.busy, link_free, index);
}

const CongestedNetwork::Times& CongestedNetwork::times_of(u32 d, u64 bytes) {
    Times& times = times_[d];
    if (times.bytes != bytes) {
        const Dimension& dimension = grid_.dimension(d);
        const double serialisation = static_cast<double>(bytes) / dimension.bytes_per_ns;
        times = {bytes, scale_.ticks(dimension.latency_ns + serialisation),
                 scale_.ticks(serialisation)};
    }
    return times;
}

void CongestedNetwork::free_link(u32 index) {
    Link& link = links_[index];
    link.busy = false;
    if constexpr (recorded_run) {
        record_free_link(index);
    }
    const u32 message = link.first;
    if (message == none) {
        return;
    }
    link.first = transits_[message].behind;
    if (link.first == none) {
        link.last = none;
    }
    transmit(index, message);
}

std::vector<LinkUse> CongestedNetwork::dimensions() const {
    std::vector<LinkUse> total(grid_.dimensions());
    for (const Link& link : links_) {
        LinkUse& sum = total[link.dimension];
        sum.bytes += link.use.bytes;
        sum.messages += link.use.messages;
        sum.busy_ticks += link.use.busy_ticks;
    }
    return total;
}

u32 CongestedNetwork::name_of(u32 device, u32 group, u32 d) const {
    const BlockTable& table = *grid_.table(d);
    if (device < table.ranks()) {
        return grid_.member(group, device, d);
    }
    const u32 in_group = device - table.ranks();
    return table.switches() == 1 ? none : first_switch_[d] + group * table.switches() + in_group;
}

NetworkModel::LinkRecord CongestedNetwork::describe(u32 link) const {
    const u32 d = links_[link].dimension;
    const Dimension& dimension = grid_.dimension(d);
    if (const BlockTable* table = grid_.table(d); table != nullptr) {
        const u32 group = (link - first_link_[d]) / table->links();
        const u32 of_group = (link - first_link_[d]) % table->links();
        return {d, name_of(table->from(of_group), group, d), name_of(table->to(of_group), group, d),
                links_[link].use};
    }
    const u32 per_rank = links_per_rank(dimension);
    const u32 rank = (link - first_link_[d]) / per_rank;
    const u32 port = (link - first_link_[d]) % per_rank;
    const u32 here = grid_.coordinate(rank, d);
    u32 there = port;
    if (dimension.block == Block::switched) {
        return port == 0 ? LinkRecord{d, rank, none, links_[link].use} : LinkRecord{d, none, rank, links_[link].use};
    }
    if (dimension.block == Block::ring) {
        there = (here + (port == 0 ? 1 : dimension.size - 1)) % dimension.size;
    }
    return {d, rank, rank + (there - here) * grid_.stride(d), links_[link].use};
}

std::vector<NetworkModel::LinkRecord> CongestedNetwork::links() const {
    std::vector<LinkRecord> records;
    for (u32 link = 0; link < links_.size(); ++link) {
        if (links_[link].use.messages > 0) {
            records.push_back(describe(link));
        }
    }
    return records;
}

}  // namespace yantra
