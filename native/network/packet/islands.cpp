#include "network/packet/islands.hpp"

#include <utility>

#include "base/disjoint_sets.hpp"
#include "base/one_thread.hpp"

namespace yantra::packet {

namespace {

constexpr u64 most_ports = u64{1} << 20;   // of all simulators: 400 MB
constexpr u32 most_links_of_header = 6;

// By link. Links are joined where they touch a switch, and to the link back.
std::vector<u32> islands_of(const FabricSpec& fabric, bool may_part, u32& count) {
    const u32 links = static_cast<u32>(fabric.links.size());
    DisjointSets joined(links);
    std::vector<u32> of_switch(fabric.is_host.size(), none);
    for (u32 link = 0; link < links; ++link) {
        const LinkSpec& of = fabric.links[link];
        for (u32 device : {of.from, of.to}) {
            if (!fabric.is_host[device]) {
                joined.join(link, of_switch[device] == none ? link : of_switch[device]);
                of_switch[device] = link;
            }
        }
        if (of.twin != none) {
            joined.join(link, of.twin);
        }
    }
    count = 0;
    std::vector<u32> found(links, 0);
    for (u32 link = 0; link < links; ++link) {
        found[link] = joined.of(link) == link ? count++ : found[joined.of(link)];
    }
    if (!may_part || u64{count} * links > most_ports) {
        count = 1;
        found.assign(links, 0);
    }
    return found;
}

}  // namespace

Islands::Islands(const FabricSpec& fabric, const Settings& settings, Observer& observer, const Part& part, bool may_part,
                 Episodes::Skips skips)
    : observer_(observer),
      payload_bytes_(settings.payload_bytes),
      has_long_headers_(skips.episodes &&
                        scheme_named(settings.congestion_control).telemetry == TelemetryKind::hops) {
    u32 count = 0;
    of_link_ = islands_of(fabric, may_part, count);
    std::vector<std::vector<u32>> links(count);
    for (u32 link = 0; count > 1 && link < of_link_.size(); ++link) {
        links[of_link_[link]].push_back(link);
    }
    Observer& hears = *this;
    for (u32 island = 0; island < count; ++island) {
        Part own = part;
        own.links = std::move(links[island]);
        own.routes = island == 0 ? part.routes : first().shared_routes();
        all_.push_back(std::make_unique<Episodes>(fabric, settings, hears, own, skips));
    }
    next_.assign(count, ~u64{0});
}

void Islands::check(std::span<const u32> data, std::span<const u32> acks) const {
    if (has_long_headers_ && std::max(data.size(), acks.size()) > most_links_of_header) {
        throw OneThread{"ways of more than six links have longer headers"};
    }
    for (std::span<const u32> way : {data, acks}) {
        for (u32 link : way) {
            if (of_link_[link] != of_link_[data.front()]) {
                throw OneThread{"hosts pass packets on, so that all may meet"};
            }
        }
    }
}

void Islands::send(u32 link, const FlowSpec& flow, u64 tick) {
    const bool is_after = hearing_.ran_at == tick;
    if (is_after && hearing_.heard_at != tick) {   // so it is not known what caused it
        for (std::size_t at = 0; at < all_.size(); ++at) {
            all_[at]->doubt(tick);
            next_[at] = all_[at]->next_time();
        }
    }
    if (are_many()) {
        places_.resize(std::max<std::size_t>(places_.size(), flow.flow + std::size_t{1}));
        places_[flow.flow] = places_of(flow);
    }
    const u32 island = of_link_[link];
    all_[island]->send(flow, std::max(tick, all_[island]->simulator().now()), is_after);
    next_[island] = all_[island]->next_time();
}

// Of the packets that tell its ends of the last byte.
Islands::Places Islands::places_of(const FlowSpec& flow) const {
    const u64 last = (flow.bytes - 1) / payload_bytes_ * payload_bytes_;
    const Routes& routes = first().routes();
    return {place_in_tick(flow.order, last, LinkId(routes.links_of(flow.data_route).back())),
            place_in_tick(flow.order, flow.bytes, LinkId(routes.links_of(flow.ack_route).back()))};
}

void Islands::hears(u32 flow, bool is_completed) {
    if (!hearing_.waits) {
        tell(flow, is_completed);
        return;
    }
    const Places& of = places_[flow];
    hearing_.told.push_back({is_completed ? of.completed : of.received, flow, is_completed});
}

void Islands::tell(u32 flow, bool is_completed) {
    hearing_.heard_at = hearing_.ran_at;
    is_completed ? observer_.completed(flow) : observer_.received(flow);
}

// As one simulator would: by the packets that tell.
void Islands::tell() {
    hearing_.waits = false;
    if (hearing_.told.empty()) {
        return;
    }
    std::stable_sort(hearing_.told.begin(), hearing_.told.end(),
                     [](const Told& one, const Told& other) { return one.place < other.place; });
    for (const Told& of : std::exchange(hearing_.told, {})) {
        tell(of.flow, of.is_completed);
    }
}

u64 Islands::others_hear_at(std::size_t island) {
    u64 earliest = hearing_.told.empty() ? ~u64{0} : 0;
    for (std::size_t at = 0; at < all_.size(); ++at) {
        earliest = at == island ? earliest : std::min(earliest, all_[at]->hears_at());
    }
    return earliest;
}

void Islands::check_losses() const {
    for (const auto& island : all_) {
        if (island->simulator().border().refused() != nullptr) {
            throw OneThread{island->simulator().border().refused()};
        }
    }
}

bool Islands::replays() const {
    return std::any_of(all_.begin(), all_.end(), [](const auto& island) { return island->replays(); });
}

u64 Islands::told_at() const {
    u64 latest = 0;
    for (const auto& island : all_) {
        latest = island->replays() ? std::max(latest, island->told_at()) : latest;
    }
    return latest;
}

void Islands::end(u64 tick) {
    for (std::size_t at = 0; at < all_.size(); ++at) {
        all_[at]->end(tick);
        next_[at] = all_[at]->next_time();
    }
}

HugeVector<Port> Islands::ports() const {
    HugeVector<Port> found = first().ports();
    for (u32 link = 0; are_many() && link < found.size(); ++link) {
        found[link] = all_[of_link_[link]]->simulator().ports()[link];
    }
    return found;
}

Totals Islands::totals() const {
    Totals sum;
    each([&sum](const Simulator& island) { add_to(sum, island.totals()); });
    return sum;
}

u64 Islands::events() const {
    u64 sum = 0;
    each([&sum](const Simulator& island) { sum += island.events(); });
    return sum;
}

void Islands::note_end(u64 tick) {
    for (const auto& island : all_) {
        island->simulator().watch().note_end(tick);
    }
}

std::vector<u64> Islands::busy_at_end() const {
    std::vector<u64> found;
    const HugeVector<Port> all = ports();
    for (u32 link = 0; link < all.size(); ++link) {
        const std::vector<u64>& own = all_[of_link_[link]]->simulator().watch().busy_at_end();
        found.push_back(own.empty() ? all[link].busy_ticks : own[link]);
    }
    return found;
}

std::shared_ptr<const Seen> Islands::seen() {
    if (!are_many()) {
        return first().watch().seen();
    }
    u64 latest = 0;
    each([&latest](const Simulator& island) { latest = std::max(latest, island.now()); });
    return first().watch().seen(ports(), totals(), latest, busy_at_end());
}

}  // namespace yantra::packet
