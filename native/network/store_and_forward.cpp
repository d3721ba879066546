#include "network/store_and_forward.hpp"

#include <algorithm>

#include "base/ensure.hpp"

namespace yantra {

namespace {

std::vector<u32> dimension_of_links(const Grid& grid) {
    const Links links(grid);
    std::vector<u32> dimensions(links.count());
    for (u32 link = 0; link < dimensions.size(); ++link) {
        dimensions[link] = links.dimension_of(link);
    }
    return dimensions;
}

}  // namespace

StoreAndForwardNetwork::StoreAndForwardNetwork(const Grid& grid, TimeScale scale, EventQueue& queue)
    : StoreAndForwardNetwork(grid, scale, queue, dimension_of_links(grid)) {}

StoreAndForwardNetwork::StoreAndForwardNetwork(const Grid& grid, TimeScale scale, EventQueue& queue,
                                   const std::vector<u32>& dimension_of_links)
    : grid_(grid),
      scale_(scale),
      queue_(queue),
      routes_(grid),
      links_(dimension_of_links.size()),
      times_(grid.dimensions()) {
    for (u32 link = 0; link < links_.size(); ++link) {
        links_[link].dimension = dimension_of_links[link];
    }
}

u32 StoreAndForwardNetwork::accept(u32 src, u32 dst, u64 bytes, Notice arrived, Notice departed) {
    ensure(src != dst, "a message to its own sender");
    const u32 message = transits_.take_as_left();
    Transit& transit = transits_[message];
    transit.bytes = bytes;
    transit.stop.at = src;
    transit.stop.in_switch_of = none;
    transit.dst = dst;
    transit.arrived = arrived;
    transit.departed = departed;
    if constexpr (recorded_run) {
        record_send(message);
    }
    return message;
}

void StoreAndForwardNetwork::send(u32 src, u32 dst, u64 bytes, Notice arrived, Notice departed) {
    go_on(accept(src, dst, bytes, arrived, departed));
}

void StoreAndForwardNetwork::on_event(u32 kind, u32 index) {
    if (kind == link_free) {
        free_link(index);
    } else {
        go_on(index);
    }
}

void StoreAndForwardNetwork::go_on(u32 message) {
    Transit& transit = transits_[message];
    offer(routes_.next(transit.stop, transit.dst), message);
}

void StoreAndForwardNetwork::offer(u32 index, u32 message) {
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

void StoreAndForwardNetwork::transmit(u32 index, u32 message) {
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
    if (transit.stop.is(transit.dst)) {
        queue_.schedule(now + times.hop, transit.arrived.kind, transit.arrived.index);
        transits_.give_back(message);
    } else {
        queue_.schedule(now + times.hop, hop_done, message);
    }
    queue_.schedule(now + times.busy, link_free, index);
}

const StoreAndForwardNetwork::Times& StoreAndForwardNetwork::times_of(u32 d, u64 bytes) {
    Times& times = times_[d];
    if (times.bytes != bytes) {
        const Dimension& dimension = grid_.dimension(d);
        const double serialisation = static_cast<double>(bytes) / dimension.bytes_per_ns;
        times = {bytes, scale_.ticks(dimension.latency_ns + serialisation),
                 scale_.ticks(serialisation)};
    }
    return times;
}

void StoreAndForwardNetwork::free_link(u32 index) {
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

std::vector<LinkUse> StoreAndForwardNetwork::dimensions() const {
    std::vector<LinkUse> total(grid_.dimensions());
    for (const Link& link : links_) {
        LinkUse& sum = total[link.dimension];
        sum.bytes += link.use.bytes;
        sum.messages += link.use.messages;
        sum.busy_ticks += link.use.busy_ticks;
    }
    return total;
}

std::vector<u64> StoreAndForwardNetwork::busiest() const {
    std::vector<u64> ticks(grid_.dimensions());
    for (const Link& link : links_) {
        ticks[link.dimension] = std::max(ticks[link.dimension], link.use.busy_ticks);
    }
    return ticks;
}

std::vector<NetworkModel::LinkRecord> StoreAndForwardNetwork::links() const {
    std::vector<LinkRecord> records;
    for (u32 link = 0; link < links_.size(); ++link) {
        if (links_[link].use.messages > 0) {
            const auto [from, to] = routes_.ends_of(link);
            records.push_back({links_[link].dimension, from, to, links_[link].use});
        }
    }
    return records;
}

}  // namespace yantra
