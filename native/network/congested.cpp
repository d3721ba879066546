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
    for (u32 d = 0; d < grid.dimensions(); ++d) {
        first_link_.push_back(static_cast<u32>(total));
        total += u64{grid.ranks()} * links_per_rank(grid.dimension(d));
        ensure(total < none, "more links than a 32-bit index holds");
        links_.resize(total);
        for (u32 link = first_link_[d]; link < total; ++link) {
            links_[link].dimension = d;
        }
    }
    use_.resize(total);
}

void CongestedNetwork::send(u32 src, u32 dst, u64 bytes, Notice arrived, Notice departed) {
    ensure(src != dst, "a message to its own sender");
    const u32 message = transits_.take();
    transits_[message] = {bytes, src, dst, none, none, arrived, departed};
    offer(message);
}

void CongestedNetwork::on_event(u32 kind, u32 index) {
    if (kind == link_free) {
        free_link(index);
        return;
    }
    offer(index);
}

// The link the message takes from where it is. Rings go clockwise unless the other way is shorter.
u32 CongestedNetwork::next_link(const Transit& transit) const {
    if (transit.in_switch_of != none) {
        const u32 d = transit.in_switch_of;
        const u32 to = grid_.coordinate(transit.dst, d);
        const u32 from = grid_.coordinate(transit.at, d);
        const u32 exit = transit.at + (to - from) * grid_.stride(d);
        return first_link_[d] + exit * 2 + 1;
    }
    const u32 d = grid_.lowest_difference(transit.at, transit.dst);
    const Dimension& dimension = grid_.dimension(d);
    const u32 from = grid_.coordinate(transit.at, d);
    const u32 to = grid_.coordinate(transit.dst, d);
    switch (dimension.block) {
        case Block::fully_connected:
            return first_link_[d] + transit.at * dimension.size + to;
        case Block::switched:
            return first_link_[d] + transit.at * 2;
        case Block::ring:
            break;
    }
    const u32 clockwise = to >= from ? to - from : to + dimension.size - from;
    const bool backwards = dimension.size - clockwise < clockwise;
    return first_link_[d] + transit.at * 2 + (backwards ? 1 : 0);
}

void CongestedNetwork::move_along(Transit& transit) const {
    if (transit.in_switch_of != none) {
        const u32 d = transit.in_switch_of;
        const u32 to = grid_.coordinate(transit.dst, d);
        transit.at += (to - grid_.coordinate(transit.at, d)) * grid_.stride(d);
        transit.in_switch_of = none;
        return;
    }
    const u32 d = grid_.lowest_difference(transit.at, transit.dst);
    const Dimension& dimension = grid_.dimension(d);
    if (dimension.block == Block::switched) {
        transit.in_switch_of = d;
        return;
    }
    const u32 from = grid_.coordinate(transit.at, d);
    u32 to = grid_.coordinate(transit.dst, d);
    if (dimension.block == Block::ring) {
        const u32 clockwise = to >= from ? to - from : to + dimension.size - from;
        const bool backwards = dimension.size - clockwise < clockwise;
        to = backwards ? (from == 0 ? dimension.size - 1 : from - 1)
                       : (from + 1 == dimension.size ? 0 : from + 1);
    }
    transit.at += (to - from) * grid_.stride(d);
}

void CongestedNetwork::offer(u32 message) {
    const u32 index = next_link(transits_[message]);
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
    const Dimension& dimension = grid_.dimension(link.dimension);
    Transit& transit = transits_[message];
    transit.behind = none;
    const double serialisation = static_cast<double>(transit.bytes) / dimension.bytes_per_ns;
    const u64 busy_ticks = scale_.ticks(serialisation);
    const u64 now = queue_.now();
    if (transit.departed.kind != none) {
        queue_.schedule(now + busy_ticks, transit.departed.kind, transit.departed.index);
        transit.departed = {};
    }
    const u64 bytes = transit.bytes;
    move_along(transit);
    // Arrival first, then the link: with no latency the next message finds the link still busy.
    const u64 there = now + scale_.ticks(dimension.latency_ns + serialisation);
    if (arrived(transit)) {
        queue_.schedule(there, transit.arrived.kind, transit.arrived.index);
        transits_.give_back(message);
    } else {
        queue_.schedule(there, hop_done, message);
    }
    queue_.schedule(now + busy_ticks, link_free, index);
    LinkUse& use = use_[index];
    use.bytes += bytes;
    use.messages += 1;
    use.busy_ticks += busy_ticks;
}

void CongestedNetwork::free_link(u32 index) {
    Link& link = links_[index];
    link.busy = false;
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
    for (std::size_t link = 0; link < links_.size(); ++link) {
        LinkUse& sum = total[links_[link].dimension];
        sum.bytes += use_[link].bytes;
        sum.messages += use_[link].messages;
        sum.busy_ticks += use_[link].busy_ticks;
    }
    return total;
}

NetworkModel::LinkRecord CongestedNetwork::describe(u32 link) const {
    const u32 d = links_[link].dimension;
    const Dimension& dimension = grid_.dimension(d);
    const u32 per_rank = links_per_rank(dimension);
    const u32 rank = (link - first_link_[d]) / per_rank;
    const u32 port = (link - first_link_[d]) % per_rank;
    const u32 here = grid_.coordinate(rank, d);
    u32 there = port;
    if (dimension.block == Block::switched) {
        return port == 0 ? LinkRecord{d, rank, none, use_[link]} : LinkRecord{d, none, rank, use_[link]};
    }
    if (dimension.block == Block::ring) {
        there = (here + (port == 0 ? 1 : dimension.size - 1)) % dimension.size;
    }
    return {d, rank, rank + (there - here) * grid_.stride(d), use_[link]};
}

std::vector<NetworkModel::LinkRecord> CongestedNetwork::links() const {
    std::vector<LinkRecord> records;
    for (u32 link = 0; link < links_.size(); ++link) {
        if (use_[link].messages > 0) {
            records.push_back(describe(link));
        }
    }
    return records;
}

}  // namespace yantra
