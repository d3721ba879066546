#include "network/packet_network.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "base/ensure.hpp"
#include "base/unsupported.hpp"
#include "network/level.hpp"
#include "network/packet/fabric_spec.hpp"
#include "network/packet/options.hpp"
#include "network/packet_network_options.hpp"
#include "network/packet_parts.hpp"

namespace yantra::inline YANTRA_RUN {

namespace {

constexpr u64 look_every = u64{1} << 20;   // events between checks for a run that cannot end

packet::Settings settings_for(const NetworkParameters& parameters) {
    ensure(parameters.fabric != nullptr, "a packet network without a fabric");
    double host_gbps = 100.0;
    for (u32 link = 0; link < parameters.fabric->links(); ++link) {
        if (parameters.fabric->from(link) < parameters.fabric->ranks()) {
            host_gbps = std::min(parameters.fabric->bytes_per_ns(link) * 8.0, 1e6);
            break;
        }
    }
    packet::Settings settings = packet_settings_of(parameters.choice.options, host_gbps);
    settings.tells_crossings = WaysProbe::keeps_spans;
    return settings;
}

const RegisteredNetwork registered_packet({
    .name = "packet",
    .help = "packets over switches with shared buffers, with pauses, marks and a congestion control",
    .make = [](const NetworkSetup& setup) -> std::unique_ptr<NetworkModel> {
        try {
            return std::make_unique<PacketNetwork>(setup);
        } catch (const std::invalid_argument& refused) {
            throw Unsupported(std::string("network packet: ") + refused.what());
        }
    },
    .traits = {NetworkTrait::charges_latency, NetworkTrait::has_links, NetworkTrait::has_headers,
               NetworkTrait::on_fabric, NetworkTrait::needs_fabric, NetworkTrait::links_change,
               NetworkTrait::takes_tiers},
    .detail = 4,
    .flow_lists = FlowLists::packets,
    .later_options = &packet_network_options,
    .check = [](const std::map<std::string, double>& options) {
        packet::check_scheme(packet_settings_of(options, 100.0));
    },
});

}  // namespace

PacketNetwork::PacketNetwork(const NetworkSetup& setup)
    : settings_(settings_for(setup.parameters)),
      graph_(*setup.parameters.fabric),
      ways_(setup.parameters, setup.grid),
      scale_(setup.semantics.scale),
      queue_(setup.engine.queue),
      probe_(setup.engine.recorder()),
      tiers_(setup.parameters, ways_),
      parting_(parting(setup)),
      changes_(setup.parameters, ways_.links(), setup.engine.queue, changes, known),
      orders_(settings_.quirks == 0 ? setup.rank_order() : std::vector<u16>()),
      clock_{settings_.ticks_per_ns(), setup.semantics.scale.ticks_per_ns()},
      islands_(parting_.fabric, settings_, *this, {0, parting_.of.parts, parting_.of.part_of},
               why_not_remember().empty() && setup.threads.why_one.empty(),
               {why_not_remember().empty(), why_not_skip().empty()}),
      simulator_(islands_.first()),
      routes_(ways_, tiers_, simulator_, settings_.entropies) {
    if (settings_.skip == packet::Skip::required && !why_not_remember().empty() && !why_not_skip().empty()) {
        throw Unsupported("network.skip: required, and nothing can be skipped: " + why_not_remember());
    }
    if (parting_.of.parts > 1) {
        packet::Observer& own = *this;
        parting_.others = std::make_unique<packet::Followers>(parting_.fabric, settings_, own, simulator_, parting_.of);
    }
    if (tiers_.any() && settings_.quirks != 0) {
        throw Unsupported("tier_networks: network.semantics ns3_fork is what that simulator does, which sends all "
                          "messages as packets; take yantra");
    }
    check_changes(setup.parameters.link_changes);
    probe_.keeps(ways_.links(), ways_.groups(), [this](u32 link) { return ways_.group(link); });
}

PacketNetwork::Parting PacketNetwork::parting(const NetworkSetup& setup) {
    packet::FabricSpec fabric = packet::spec_of(graph_, settings_, tiers_.links());
    packet::Partition parts = packet_parts(setup, settings_, fabric, ways_, tiers_);
    return {std::move(fabric), std::move(parts)};
}

std::string PacketNetwork::why_not_skip() const {
    const std::string refused = packet::Repeats::refusal(settings_);
    return refused.empty() ? why_not_remember() : refused;
}

std::string PacketNetwork::why_not_remember() const {
    const std::string refused = packet::Episodes::refusal(settings_);
    return !refused.empty()       ? refused
           : tiers_.any()         ? "a tier goes by formula"
           : changes_.any()       ? "links change"
           : ways_.by_packet() || ways_.by_load() ? "packets of one message take several ways"
           : !clock_.are_as_one() ? "messages begin in whole ns"
           : parting_.of.parts > 1     ? "several threads share the work"
                                  : "";
}

void PacketNetwork::send(const Message& message, Notice arrived, Notice departed) {
    catch_up();
    if (changes_.rests()) [[unlikely]] {
        run_to_now();
        change_links();
    }
    const u32 number = transits_.take_as_left();
    const u32 from = ways_.place(message.src);
    const u32 to = ways_.place(message.dst);
    const PacketRoutes::OfPair routes = routes_between(from, to);
    transits_[number] = {arrived, departed, message.bytes, from, to, message.src.index(), message.dst.index(), routes};
    probe_.sent(number);
    if (routes.formula != none) {
        send_by_formula(number);
        return;
    }
    probe_.takes(clock_.of_engine(simulator_.routes().latency(routes.data)));
    if (changes_.any()) {
        watch(number);
        if (crosses_avoided(routes)) {
            held_.push_back(number);
            return;
        }
    }
    send_packets(number);
}

const PacketRoutes::OfPair& PacketNetwork::routes_between(u32 from, u32 to) {
    if (routes_.knows(from, to)) {
        return routes_.between(from, to);
    }
    if (parting_.others != nullptr) {
        parting_.others->rest();
    }
    const PacketRoutes::OfPair& found = routes_.between(from, to);
    if (parting_.others != nullptr) {
        parting_.others->add_hops();
    } else if (found.formula == none) {
        islands_.check(simulator_.routes().links_of(found.data), simulator_.routes().links_of(found.acks));
    }
    return found;
}

void PacketNetwork::send_packets(u32 number) {
    const Transit& transit = transits_[number];
    const PacketRoutes::OfPair& routes = transit.routes;
    const u64 now = clock_.next_of_packets(queue_.now());
    progress_.ranks_ended = false;
    if (parting_.others != nullptr) {
        parting_.others->goes_on();
    }
    islands_.send(simulator_.routes()[routes.data].index(),
                  {number, std::max<u64>(transit.bytes, 1), routes.data, routes.acks, routes.first_way, routes.ways,
                   transit.source, transit.destination, none, order_of(transit.source), routes.target},
                  now);
    ++progress_.under_way;
    wake();
}

void PacketNetwork::send_by_formula(u32 number) {
    const Transit& transit = transits_[number];
    const PacketRoutes::FormulaWay& way = routes_.by_formula(transit.routes);
    const double transfer_ns = static_cast<double>(transit.bytes) / way.stretch.bytes_per_ns;
    const u64 now = queue_.now();
    const u64 ends = now + scale_.ticks(transfer_ns);
    probe_.takes(scale_.ticks(way.stretch.latency_ns));
    for (u32 link : way.links) {
        simulator_.crosses_by_formula(LinkId(link), transit.bytes, clock_.of_packets(now));
        probe_.carried(number, link, now, ends, transit.bytes);
    }
    if (!transit.departed.kind.is_none()) {
        queue_.schedule(ends, transit.departed);
    }
    queue_.schedule(now + scale_.ticks(way.stretch.latency_ns + transfer_ns), {Owner::network, by_formula}, number);
}

void PacketNetwork::handle(const Event& event) {
    switch (static_cast<Kind>(event.kind.kind())) {
        case wakes:
            ++next_wake_.handled;
            if (event.index == next_wake_.number) {
                wake_to_now();
            }
            return;
        case changes:
            run_to_now();
            change_links();
            wake();
            return;
        case known:
            run_to_now();
            reroute();
            wake();
            return;
        case by_formula:
            arrive(event.index);
            transits_.give_back(event.index);
            return;
    }
}

// So that order depends only on `order`.
void PacketNetwork::wake_to_now() {
    if (settings_.quirks == 0 && !queue_.tick_is_over()) {
        queue_.schedule(queue_.now(), {Owner::network, wakes}, next_wake_.number);
        return;
    }
    next_wake_.tick = never_wakes;
    run_to_now();
    wake();
}

void PacketNetwork::run_to_now() {
    if (parting_.others != nullptr) {
        reach(clock_.of_packets(queue_.now()));
    }
    const auto step = [this](packet::Simulator& simulator) {
        simulator.step();
        if ((++progress_.since_look & (look_every - 1)) == 0) {
            look();
        }
    };
    const auto until = [this] { return queue_.empty() ? never_wakes : clock_.of_packets(queue_.next_time()); };
    islands_.run_to(clock_.of_packets(queue_.now()), step, until);
}

// The others are beyond `tick` then.
void PacketNetwork::reach(u64 tick) {
    while (parting_.others->end() <= tick) {
        simulator_.run_before(parting_.others->end());
        parting_.others->follow(tick);
    }
}

// What is left when the last message has ended: pauses that end. So the end does not depend on how far it was handled.
void PacketNetwork::drain() {
    if (!progress_.ranks_ended || progress_.under_way > 0 || settings_.quirks != 0 || !queue_.empty()) {
        return;
    }
    if (parting_.others == nullptr) {
        islands_.each([](packet::Simulator& simulator) { simulator.run_before(~u64{0}); });
        return;
    }
    while (!parting_.others->is_idle()) {
        parting_.others->follow(~u64{0});
        simulator_.run_before(parting_.others->end());
    }
}

void PacketNetwork::ranks_end() {
    const u64 now = clock_.of_packets(queue_.now());
    islands_.end(now);
    catch_up();
    progress_.ranks_ended = true;
    if (parting_.others == nullptr) {
        islands_.note_end(now);
        return;
    }
    reach(now);
    parting_.others->note_end(now);
}

void PacketNetwork::crosses(u32 number, u32 link, u64 start, u64 end, u32 payload) {
    if constexpr (WaysProbe::keeps_spans) {
        open_.resize(simulator_.ports().size());
        OpenSpan& open = open_[link];
        const u32 message = probe_.recorded(number);
        if (open.message != message || open.end != start) {
            end_span(link);
            open = {message, start, end, 0};
        }
        open.end = end;
        open.bytes += payload;
    }
}

void PacketNetwork::end_span(u32 link) {
    OpenSpan& open = open_[link];
    if (open.bytes > 0) {
        probe_.span({clock_.of_engine(open.start), clock_.of_engine(open.end), open.bytes, link,
                     open.message});
        open = {};
    }
}

// So that link rows match records.
void PacketNetwork::end_spans() {
    if constexpr (WaysProbe::keeps_spans) {
        open_.resize(simulator_.ports().size());
        for (u32 link = 0; link < open_.size(); ++link) {
            end_span(link);
            const packet::Port& port = simulator_.ports()[link];
            if (port.packets > 0 && port.payload_bytes == 0) {
                probe_.span({0, 0, 0, link, none});
            }
        }
    }
}

// Handles timers, and the last packets.
void PacketNetwork::catch_up() {
    if (parting_.others != nullptr && progress_.under_way == 0 && queue_.now() > 0) {
        reach(clock_.of_packets(queue_.now() - 1));
    }
    if (progress_.under_way > 0 || islands_.replays()) {
        return;
    }
    islands_.each([this](packet::Simulator& simulator) {
        while (!simulator.empty() && clock_.of_engine(simulator.next_time()) < queue_.now()) {
            simulator.step();
        }
    });
}

void PacketNetwork::wake() {
    if (progress_.under_way == 0) {
        return;
    }
    const u64 own = islands_.next_time();
    if (own == never_wakes && parting_.others == nullptr) {
        if (simulator_.faults().cut_senders() > 0) {
            return;   // they wait for a link
        }
        look();
        fail("a packet network with flows under way and nothing to do");
    }
    const u64 of_packets = parting_.others != nullptr ? std::min(own, parting_.others->end()) : own;
    const u64 next = std::max(clock_.of_engine(of_packets), queue_.now());
    if (next < next_wake_.tick) {
        next_wake_.tick = next;
        queue_.schedule(next, {Owner::network, wakes}, ++next_wake_.number);
    }
}

void PacketNetwork::received(u32 number) {
    if (!settings_.has(packet::Quirk::late_receiver)) {
        arrive(number);
    }
}

void PacketNetwork::arrive(u32 number) {
    probe_.arrives(number);
    queue_.schedule(queue_.now(), transits_[number].arrived);
    probe_.arrival_scheduled();
}

void PacketNetwork::completed(u32 number) {
    const Transit& transit = transits_[number];
    if (!transit.departed.kind.is_none()) {
        probe_.arrives(number);   // caused by the sender, too
        queue_.schedule(queue_.now(), transit.departed);
        probe_.arrival_scheduled();
    }
    if (settings_.has(packet::Quirk::late_receiver)) {
        arrive(number);
    }
    if (transit.waits_since != never) {
        disturbance_.waited_ticks += queue_.now() - transit.waits_since;
    }
    transits_.give_back(number);
    --progress_.under_way;
}

std::vector<LinkUse> PacketNetwork::use() const {
    std::vector<LinkUse> found;
    const bool is_one = parting_.others == nullptr;
    const std::vector<u64> busy = is_one ? islands_.busy_at_end() : parting_.others->busy_at_end();
    const HugeVector<packet::Port> ports = is_one ? islands_.ports() : parting_.others->ports();
    for (u32 link = 0; link < ports.size(); ++link) {
        const packet::Port& port = ports[link];
        const u64 busy_ticks = busy.empty() ? port.busy_ticks : busy[link];
        found.push_back({port.payload_bytes, port.packets, clock_.of_engine(busy_ticks)});
    }
    return found;
}

// Throws Unsupported if flows cannot end.
void PacketNetwork::look() const {
    std::optional<packet::Stuck> stuck;
    islands_.each([&stuck](const packet::Simulator& island) { stuck = stuck ? stuck : island.stuck(); });
    if (!stuck || changes_.any_down()) {
        return;
    }
    std::string what = "packets stand still with " + std::to_string(stuck->flows) + " messages under way: ";
    if (!stuck->cycle.empty()) {
        what += "a PFC deadlock, in which each of these is paused by the next and the last by the first:";
        for (u32 link : stuck->cycle) {
            what.append(" ").append(graph_.link_name(link)).append(",");
        }
        what += " so take a routing without circles (up_down), or larger buffers";
    } else if (stuck->drops > 0) {
        what += "a livelock, " + std::to_string(stuck->drops) + " packets dropped without progress, most behind " +
                graph_.link_name(stuck->dropped_on) + "; take larger buffers or a window";
    } else {
        what += "a loss that nobody notices; take network.semantics yantra, which has a timer";
    }
    throw Unsupported(what);
}

}  // namespace yantra
