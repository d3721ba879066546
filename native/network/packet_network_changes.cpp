// Messages when links fail, return or change rate: packets are lost (network/packet/faults.hpp);
// once known, messages take other ways or pause.
#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "base/unsupported.hpp"
#include "network/packet_network.hpp"

namespace yantra {

namespace {

constexpr double bits_per_byte_ns = 8e9;   // bit/s of a byte per ns
constexpr u64 least_bits = 1'000'000;

u64 bits_of(double bytes_per_ns) { return static_cast<u64>(std::llround(bytes_per_ns * bits_per_byte_ns)); }

}  // namespace

void PacketNetwork::check_changes(const std::vector<LinkChange>& changes) {
    if (changes_.any() && settings_.has(packet::Quirk::no_retransmission_timer)) {
        throw Unsupported("cluster.failures: network.semantics ns3_fork has no timer, so nobody would notice what a link "
                          "that fails has lost; take yantra");
    }
    for (const LinkChange& change : changes) {
        const u64 bits = bits_of(change.bytes_per_ns);
        if (change.bytes_per_ns > 0.0 && bits < least_bits) {
            throw std::invalid_argument(graph_.link_name(change.link) +
                                        ": packets need a rate of 1 Mb/s or more, or 0 for a link that is down");
        }
        simulator_.faults().allow_rate(bits);
    }
}

void PacketNetwork::change_links() {
    simulator_.pass_to(clock_.of_packets(queue_.now()));
    changes_.apply(progress_.under_way == 0 && held_.empty(), [this](u32 link, double rate) {
        simulator_.faults().change_link(LinkId(link), bits_of(rate));
    });
    std::vector<packet::SenderId> again;
    simulator_.senders().each_under_way([this, &again](u32 number, packet::SenderId sender) {
        watch(number);
        if (simulator_.faults().is_cut(sender) && !is_cut(transits_[number].routes)) {
            again.push_back(sender);
        }
    });
    for (packet::SenderId sender : again) {
        simulator_.faults().go_on_again(sender);
    }
    send_held();
}

void PacketNetwork::send_held() {
    for (u32 number : std::exchange(held_, {})) {
        watch(number);
        if (is_cut(transits_[number].routes)) {
            held_.push_back(number);
        } else {
            send_packets(number);
        }
    }
}

void PacketNetwork::reroute() {
    simulator_.pass_to(clock_.of_packets(queue_.now()));
    changes_.becomes_known();
    ways_.avoid(changes_.avoided());
    routes_.forget();
    std::vector<std::pair<u32, packet::SenderId>> cut;   // messages and their senders
    simulator_.senders().each_under_way([this, &cut](u32 number, packet::SenderId sender) {
        if (crosses_avoided(transits_[number].routes)) {
            cut.emplace_back(number, sender);
        }
    });
    for (const auto& [number, sender] : cut) {
        Transit& transit = transits_[number];
        const PacketRoutes::OfPair other = routes_.between(transit.from, transit.to);
        if (!crosses_avoided(other)) {
            transit.routes = other;
            watch(number);
            disturbance_.rerouted += std::exchange(transit.was_rerouted, true) ? 0 : 1;
            packet::FlowSpec ways{number, transit.bytes, other.data, other.acks, other.first_way, other.ways};
            ways.target = other.target;
            simulator_.faults().take_ways(sender, ways);
        } else if (!simulator_.faults().is_cut(sender)) {
            simulator_.faults().cut(sender);
        }
    }
    for (u32 number : held_) {
        Transit& transit = transits_[number];
        transit.routes = routes_.between(transit.from, transit.to);
    }
    send_held();
}

void PacketNetwork::watch(u32 number) {
    Transit& transit = transits_[number];
    const bool waits = is_cut(transit.routes);
    if (waits == (transit.waits_since != never)) {
        return;
    }
    if (!waits) {
        disturbance_.waited_ticks += queue_.now() - std::exchange(transit.waits_since, never);
        return;
    }
    transit.waits_since = queue_.now();
    disturbance_.waited += std::exchange(transit.has_waited, true) ? 0 : 1;
}

bool PacketNetwork::is_cut(const PacketRoutes::OfPair& routes) const {
    return routes_.any_of(routes, [this](std::span<const u32> links) { return changes_.is_cut(links); });
}

bool PacketNetwork::crosses_avoided(const PacketRoutes::OfPair& routes) const {
    return routes_.any_of(routes, [this](std::span<const u32> links) { return changes_.crosses_avoided(links); });
}

NetworkReport PacketNetwork::report() {
    if (islands_.replays()) {   // ranks have not ended
        islands_.end(progress_.under_way == 0 ? islands_.told_at() : clock_.of_packets(queue_.now()));
    }
    drain();
    end_spans();
    NetworkReport found{ways_.busiest(use()), disturbance_, transits_.taken(),
                        parting_.others == nullptr ? islands_.seen() : parting_.others->seen()};
    found.wakes = next_wake_.handled;
    found.own_events = parting_.others == nullptr ? islands_.events() : parting_.others->events();
    found.threads = {parting_.of.parts, parting_.of.why};
    found.disturbance.lost_packets = simulator_.faults().lost().packets;
    found.disturbance.lost_bytes = simulator_.faults().lost().bytes;
    return found;
}

}  // namespace yantra
