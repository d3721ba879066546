#include "network/store_and_forward.hpp"

#include <algorithm>
#include <vector>

#include "base/ensure.hpp"
#include "engine/event_row.hpp"
#include "network/fabric_queues.hpp"
#include "network/level.hpp"

namespace yantra {

namespace {

const RegisteredNetwork registered_store_and_forward({
    .name = "store_and_forward",
    .help = "whole messages over a queue for each link, which they wait for in the order they come",
    .make = [](const NetworkSetup& setup) -> std::unique_ptr<NetworkModel> {
        if (setup.parameters.fabric != nullptr || !setup.parameters.formula_groups.empty()) {
            return std::make_unique<FabricQueues>(setup);
        }
        return std::make_unique<StoreAndForwardNetwork>(setup.grid, setup.semantics.scale, setup.engine);
    },
    .folding = NetworkFolding::links_by_class,
    .traits = {NetworkTrait::charges_latency, NetworkTrait::has_links, NetworkTrait::stores_messages,
               NetworkTrait::on_fabric, NetworkTrait::links_change, NetworkTrait::takes_tiers},
    .detail = 2,
    .flow_lists = FlowLists::stored,
    .options = {},
});

}  // namespace

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

StoreAndForwardNetwork::StoreAndForwardNetwork(const Grid& grid, TimeScale scale, Engine& engine)
    : StoreAndForwardNetwork(grid, scale, engine, dimension_of_links(grid)) {}

StoreAndForwardNetwork::StoreAndForwardNetwork(const Grid& grid, TimeScale scale, Engine& engine,
                                               const std::vector<u32>& links)
    : grid_(grid),
      scale_(scale),
      queue_(engine.queue),
      routes_(grid),
      links_(links.size()),
      times_(grid.dimensions()),
      probe_(engine.recorder()) {
    for (u32 link = 0; link < links_.size(); ++link) {
        links_[link].dimension = links[link];
    }
    probe_.keeps(routes_.first_of_dimensions(), links_.size());
}

u32 StoreAndForwardNetwork::accept(const Message& message, Notice arrived, Notice departed) {
    ensure(message.src != message.dst, "a message to its own sender");
    const u32 at = transits_.take_as_left();
    Transit& transit = transits_[at];
    transit.bytes = message.bytes;
    transit.stop.at = message.src.index();
    transit.stop.in_switch_of = none;
    transit.dst = message.dst.index();
    transit.arrived = arrived;
    transit.departed = departed;
    probe_.accepted(at);
    return at;
}

void StoreAndForwardNetwork::send(const Message& message, Notice arrived, Notice departed) {
    Links::Stop stop{message.src.index(), none};
    ensure(message.src != message.dst, "a message to its own sender");
    const u32 link = routes_.next(stop, message.dst.index());
    if (stop.is(message.dst.index()) && !links_[link].busy && departed.kind.is_none()) {
        cross(link, message.bytes, arrived);
        return;
    }
    const u32 transit = accept(message, arrived, departed);
    transits_[transit].stop = stop;
    offer(link, transit);
}

u32 StoreAndForwardNetwork::only_link(RankId src, RankId dst) {
    Links::Stop stop{src.index(), none};
    const u32 link = routes_.next(stop, dst.index());
    return stop.is(dst.index()) ? link : none;
}

void StoreAndForwardNetwork::send_over(u32 link, const Message& message, Notice arrived) {
    if (!links_[link].busy) [[likely]] {
        cross(link, message.bytes, arrived);
        return;
    }
    send(message, arrived, {});
}

// Equal times over idle links form one run of arrivals and one of freed links, unless both fall in
// one tick.
void StoreAndForwardNetwork::send_over_links(std::span<const OverLink> many, u64 bytes) {
    const u64 now = queue_.now();
    const auto most = static_cast<u32>(many.size());
    EventRow arrivals(queue_, most);
    EventRow freed(queue_, most);
    for (const OverLink& one : many) {
        const Times times = times_of(links_[one.link].dimension, bytes);
        if (links_[one.link].busy || times.hop == times.busy) [[unlikely]] {
            arrivals.flush();
            freed.flush();
            send_over(one.link, {one.src, one.dst, bytes}, one.arrived);
            continue;
        }
        occupy(one.link, bytes);
        probe_.crosses_at_once(one.link);
        arrivals.schedule(now + times.hop, one.arrived.kind, one.arrived.index);
        freed.schedule(now + times.busy, {Owner::network, link_free}, one.link);
    }
    arrivals.flush();
    freed.flush();
}

u64 StoreAndForwardNetwork::ticks_of_rounds(std::span<const OverLink> many, u64 bytes) {
    const u64 ticks = times_of(links_[many.front().link].dimension, bytes).hop;
    std::size_t alike = 0;
    for (; alike < many.size(); ++alike) {
        Link& link = links_[many[alike].link];
        const Times& times = times_of(link.dimension, bytes);
        if (link.busy || times.hop != ticks || times.busy >= ticks) {
            break;
        }
        link.busy = true;   // in case it is named again
    }
    for (const OverLink& one : many.first(alike)) {
        links_[one.link].busy = false;
    }
    return alike == many.size() ? ticks : 0;
}

void StoreAndForwardNetwork::pass_rounds(std::span<const OverLink> many, u64 bytes, u64 rounds) {
    for (const OverLink& one : many) {
        Link& link = links_[one.link];
        link.use.bytes += bytes * rounds;
        link.use.messages += rounds;
        link.use.busy_ticks += times_of(link.dimension, bytes).busy * rounds;
    }
}

inline void StoreAndForwardNetwork::cross(u32 link, u64 bytes, Notice arrived) {
    const Times& times = occupy(link, bytes);
    probe_.crosses_at_once(link);
    queue_.schedule(queue_.now() + times.hop, arrived);
    queue_.schedule(queue_.now() + times.busy, {Owner::network, link_free}, link);
}

u32 StoreAndForwardNetwork::handle_run(const EventRun& run, u32 at, u32 until) {
    constexpr EventKind freed(Owner::network, link_free);
    for (; at < until && run.kind(at) == freed; ++at) {
        const Event event = run.event(at);
        probe_.link_free(event);
        free_link(event.index);
    }
    for (; at < until && run.kind(at) != freed; ++at) {
        handle(run.event(at));
    }
    return at;
}

void StoreAndForwardNetwork::handle(const Event& event) {
    if (event.kind.kind() == link_free) {
        probe_.link_free(event);
        free_link(event.index);
    } else {
        probe_.hop_done(event);
        take_on(event.index);
    }
}

void StoreAndForwardNetwork::take_on(u32 at) {
    Transit& transit = transits_[at];
    offer(routes_.next(transit.stop, transit.dst), at);
}

void StoreAndForwardNetwork::offer(u32 index, u32 transit) {
    transits_[transit].behind = none;
    probe_.offered(transit);
    Link& link = links_[index];
    if (!link.busy) {
        transmit(index, transit);
    } else if (link.first == none) {
        link.first = link.last = transit;
    } else {
        transits_[link.last].behind = transit;
        link.last = transit;
    }
}

void StoreAndForwardNetwork::transmit(u32 index, u32 at) {
    Transit& transit = transits_[at];
    const Times& times = occupy(index, transit.bytes);
    const u64 now = queue_.now();
    probe_.begins_to_cross(index, at);
    if (!transit.departed.kind.is_none()) {
        queue_.schedule(now + times.busy, transit.departed);
        transit.departed = {};
    }
    // With no latency the next message finds the link still busy.
    if (transit.stop.is(transit.dst)) {
        queue_.schedule(now + times.hop, transit.arrived);
        transits_.give_back(at);
    } else {
        queue_.schedule(now + times.hop, {Owner::network, hop_done}, at);
    }
    queue_.schedule(now + times.busy, {Owner::network, link_free}, index);
}

const StoreAndForwardNetwork::Times& StoreAndForwardNetwork::occupy(u32 index, u64 bytes) {
    Link& link = links_[index];
    const Times& times = times_of(link.dimension, bytes);
    link.busy = true;
    link.use.bytes += bytes;
    link.use.messages += 1;
    link.use.busy_ticks += times.busy;
    return times;
}

void StoreAndForwardNetwork::settle(Times& times, const Dimension& dimension, u64 bytes) const {
    const double serialisation = static_cast<double>(bytes) / dimension.bytes_per_ns;
    times = {bytes, scale_.ticks(dimension.latency_ns + serialisation), scale_.ticks(serialisation)};
}

inline void StoreAndForwardNetwork::free_link(u32 index) {
    Link& link = links_[index];
    link.busy = false;
    probe_.freed(index);
    if (link.first != none) {
        serve_next(index);
    }
}

void StoreAndForwardNetwork::serve_next(u32 index) {
    Link& link = links_[index];
    const u32 transit = link.first;
    link.first = transits_[transit].behind;
    if (link.first == none) {
        link.last = none;
    }
    transmit(index, transit);
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

NetworkReport StoreAndForwardNetwork::report() {
    NetworkReport found;
    found.busiest.resize(grid_.dimensions());
    for (const Link& link : links_) {
        found.busiest[link.dimension] = std::max(found.busiest[link.dimension], link.use.busy_ticks);
    }
    return found;
}

std::vector<LinkRecord> StoreAndForwardNetwork::links() const {
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
