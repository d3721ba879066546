#include "network/noc/simulator.hpp"

#include <algorithm>
#include <bit>
#include <vector>

#include "base/ensure.hpp"
#include "base/interruption.hpp"
#include "base/unsupported.hpp"

namespace yantra::noc {

namespace {

constexpr u64 cycles_between_looks = u64{1} << 16;   // between checks for flits stuck while others
                                                     // move

const Settings& checked(const Settings& settings) {
    check(settings);
    return settings;
}

}  // namespace

Simulator::Simulator(const Settings& settings, Observer& observer)
    : shape_(checked(settings).dimensions, settings.nodes_per_router),
      packet_flits_(settings.packet_flits),
      times_(find_router(settings.router)->times(settings.router_cycles)),
      observer_(observer),
      channels_(settings, shape_),
      router_(find_router(settings.router)->make(channels_)),
      sources_(shape_.nodes()) {}

void Simulator::send(u32 source, u32 destination, u64 flits, u32 tag, u64 created) {
    ensure(source < sources_.size() && destination < sources_.size(), "a node of another network");
    ensure(flits > 0 && created <= now(), "flits that are not there yet");
    Source& of = sources_[source];
    of.messages.push_back({destination, tag, flits, created});
    flits_under_way_ += flits;
    created_under_way_ += flits * created;
    if (!of.is_busy) {
        of.is_busy = true;
        busy_sources_.push_back(source);
    }
}

void Simulator::step() {
    look_up();
    channels_.begin_cycle([this](u32 node, Flit flit) { eject(node, flit); });
    std::size_t kept = 0;
    for (std::size_t at = 0; at < busy_sources_.size(); ++at) {
        const u32 node = busy_sources_[at];
        Source& source = sources_[node];
        step_source(node, source);
        source.is_busy = !source.messages.empty();
        if (source.is_busy) {
            busy_sources_[kept++] = node;
        }
    }
    busy_sources_.resize(kept);
    router_->step();
    check_progress();
    channels_.end_cycle();
}

void Simulator::begin_packet(u32 node, Source& source) {
    Message& message = source.messages.front();
    const auto flits = static_cast<u32>(std::min<u64>(message.flits_left, packet_flits_));
    source.packet = channels_.packets().take_as_left();
    channels_.packets()[source.packet] =
        {message.created, now(), node, message.destination, flits, flits, message.tag, 0, 0};
    source.flits_left = flits;
    source.has_vc = false;
    message.flits_left -= flits;
}

bool Simulator::find_vc(u32 node, Source& source) {
    const OutputPort& port = channels_.outputs()[channels_.layout().source(node)];
    const u64 ready = port.free & port.credits;
    if (ready == 0) {
        return false;
    }
    source.vc = first_from(ready, source.vc + 1 >= channels_.layout().vcs_of_port() ? 0 : source.vc + 1);
    source.has_vc = true;
    channels_.packets()[source.packet].injected = now();
    return true;
}

void Simulator::step_source(u32 node, Source& source) {
    if (source.packet.is_none()) {
        begin_packet(node, source);
    }
    if (!source.has_vc ? !find_vc(node, source)
                       : !channels_.outputs().has_credit(channels_.layout().source(node), source.vc)) {
        return;
    }
    const Packet& packet = channels_.packets()[source.packet];
    const bool is_head = source.flits_left == packet.flits;
    const bool is_tail = --source.flits_left == 0;
    channels_.inject(node, {source.packet, is_head, is_tail}, source.vc);
    if (is_tail) {
        source.packet = PacketId::none;
        const auto [destination, tag, flits_left, created] = source.messages.front();
        if (flits_left == 0) {
            source.messages.pop_front();
            observer_.departed(tag);
        }
    }
}

void Simulator::eject(u32 node, Flit flit) {
    Packet& packet = channels_.packets()[flit.packet()];
    ensure(packet.destination == node, "a flit at a node that it was not sent to");
    ++flits_arrived_;
    --flits_under_way_;
    created_under_way_ -= packet.created;
    if (--packet.flits_left == 0) {
        const Packet arrived = packet;
        channels_.packets().give_back(flit.packet());
        observer_.arrived(arrived);
    }
}

void Simulator::idle_until(u64 cycle) {
    ensure(is_idle(), "flits on their way when the clock was moved");
    // What is left are returning credits.
    for (u64 left = channels_.wires().patience(); left > 0 && now() < cycle && !channels_.is_quiet(); --left) {
        step();
    }
    if (now() < cycle) {
        channels_.skip_to(cycle);
    }
}

u64 Simulator::alone_cycles(u32 source, u32 destination, u64 flits) const {
    const u32 from = shape_.router_of(source);
    const u32 to = shape_.router_of(destination);
    const u64 routers = u64{shape_.hops(from, to)} + 1;
    const u64 in_routers = routers * (times_.before_switch + times_.after_switch + times_.arrival);
    return 2 + in_routers + shape_.channel_cycles(from, to) + 1 + (flits - 1);
}

void Simulator::check_progress() {
    const bool is_still = channels_.is_still();
    if (!is_still && (now() & (cycles_between_looks - 1)) != 0) {
        return;
    }
    const std::optional<Stuck> found = stuck();
    if (!found) {
        return;
    }
    std::string what = "flits stand still, " + std::to_string(found->flits) + " of them, one for " +
                       std::to_string(found->cycles) + " cycles: ";
    what += found->is_circle ? "a deadlock, in which each of these waits for the next and the last for the first:"
                             : "each of these waits for the next:";
    for (const std::string& port : found->ports) {
        what.append(" ").append(port).append(",");
    }
    what += " so take a routing without circles, or more VCs";
    throw Unsupported(what);
}

// The one stuck longest, or none.
VcId Simulator::oldest_input(u64& waited) const {
    VcId oldest;
    waited = 0;
    for (u32 at = 0; at < channels_.layout().vcs(); ++at) {
        const InputVc& input = channels_.inputs()[VcId(at)];
        if (input.flits > 0 && (oldest.is_none() || now() - input.since > waited)) {
            oldest = VcId(at);
            waited = now() - input.since;
        }
    }
    return oldest;
}

// The last of several offers counts: the escape.
VcId Simulator::blocker(VcId vc) const {
    const Layout& layout = channels_.layout();
    const Outputs& outputs = channels_.outputs();
    const RouterId router = layout.router_of(layout.port_of(vc));
    const auto behind = [&](PortId out, u32 out_vc) {
        const PortId far = channels_.wires().far_end(out);
        return far.is_none() ? VcId::none : layout.vc(far, out_vc);
    };
    const InputVc& input = channels_.inputs()[vc];
    if (input.is_held) {
        const PortId out = layout.port(router, input.out_port);
        return outputs.has_credit(out, input.out_vc) ? VcId::none : behind(out, input.out_vc);
    }
    const Offer* offers = channels_.inputs().offers(vc);
    for (u32 at = 0; at < input.offers; ++at) {
        if ((offers[at].vcs & outputs[layout.port(router, offers[at].port)].free) != 0) {
            return VcId::none;
        }
    }
    if (input.offers == 0) {
        return VcId::none;
    }
    const Offer& last = offers[input.offers - 1];
    const PortId out = layout.port(router, last.port);
    const auto out_vc = static_cast<u32>(std::countr_zero(last.vcs));
    return (outputs[out].to_drain >> out_vc & 1U) == 0 ? outputs.owner(layout.vc(out, out_vc)) : behind(out, out_vc);
}

std::optional<Stuck> Simulator::stuck() const {
    const bool is_still = channels_.is_still();
    u64 waited = 0;
    VcId at = oldest_input(waited);
    if (at.is_none() || (!is_still && waited < cycles_between_looks)) {
        return std::nullopt;
    }
    Stuck found{channels_.flits_inside(), waited, false, {}};
    std::vector<VcId> way;
    while (!at.is_none()) {
        const auto before = std::find(way.begin(), way.end(), at);
        if (before != way.end()) {
            found.is_circle = true;
            way.erase(way.begin(), before);
            break;
        }
        way.push_back(at);
        at = blocker(at);
    }
    if (!is_still && !found.is_circle) {
        return std::nullopt;
    }
    for (const VcId vc : way) {
        found.ports.push_back(port_name(channels_.layout().port_of(vc)));
    }
    return found;
}

std::string Simulator::port_name(PortId of) const {
    const u32 router = channels_.layout().router_of(of).index();
    const u32 port = channels_.layout().within_router(of);
    std::string name = "router (";
    for (u32 dimension = 0; dimension < shape_.dimensions().size(); ++dimension) {
        name.append(dimension == 0 ? "" : ", ").append(std::to_string(shape_.coordinate(router, dimension)));
    }
    name += ") from ";
    if (port >= shape_.first_local()) {
        return name + "its node " + std::to_string(port - shape_.first_local());
    }
    return name + (port % 2 == 0 ? "above" : "below") + " in dimension " + std::to_string(port / 2);
}

}  // namespace yantra::noc
