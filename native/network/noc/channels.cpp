#include "network/noc/channels.hpp"

#include <algorithm>

#include "base/ensure.hpp"

namespace yantra::noc {

namespace {

constexpr u64 routing_purpose = 0x6e6f6301;   // of drawn directions
constexpr u32 node_channel_cycles = 1;        // between a node and its router

u64 all_bits(u32 count) { return count == 64 ? ~u64{0} : (u64{1} << count) - 1; }

}  // namespace

Channels::Channels(const Settings& settings, const Shape& shape)
    : shape_(shape),
      vcs_(settings.vcs),
      ports_(shape.ports()),
      buffer_flits_(settings.buffer_flits),
      times_(find_router(settings.router)->times(settings.router_cycles)),
      routing_(find_routing(settings.routing)->make(shape, settings.vcs)),
      most_offers_(routing_->most_offers()),
      takes_empty_vcs_(find_router(settings.router)->takes_empty_vcs ||
                       (routing_->takes_empty_vcs() && settings.packet_flits > 1)),
      random_(settings.seed, routing_purpose, 0) {
    const std::size_t ports = std::size_t{shape.routers()} * ports_;
    states_.resize(ports);
    outputs_.resize(ports + shape.nodes(), {all_bits(vcs_), all_bits(vcs_), 0});
    used_.resize(ports);
    crossed_.resize(ports);
    packets_crossed_.resize(ports);
    inputs_.resize(ports * vcs_);
    offers_.resize(ports * vcs_ * most_offers_);
    owners_.resize(ports * vcs_, none);
    slots_taken_.resize(outputs_.size() * vcs_);
    flits_.resize(ports * vcs_ * buffer_flits_);
    busy_ports_.resize(shape.routers());
    is_awake_.resize(shape.routers());
    u32 longest = 0;
    for (u32 router = 0; router < shape.routers(); ++router) {
        for (u32 port = 0; port < ports_; ++port) {
            const bool is_local = port >= shape.first_local();
            const u32 beside = is_local ? none : shape.neighbour(router, port);
            const u32 cycles = is_local ? node_channel_cycles : shape.dimensions()[port / 2].link_cycles;
            const u32 node = is_local ? router * shape.nodes_per_router() + port - shape.first_local() : 0;
            far_ends_.push_back(beside == none ? none : port_index(beside, port ^ 1u));
            upstream_.push_back(is_local ? source_port(node) : far_ends_.back());
            out_cycles_.push_back(times_.after_switch + cycles + (is_local ? 0 : times_.arrival));
            credit_cycles_.push_back(1 + cycles);
            longest = std::max(longest, std::max(out_cycles_.back(), credit_cycles_.back()));
        }
    }
    longest = std::max(longest, 1 + node_channel_cycles + times_.arrival);
    slots_.resize(std::bit_ceil(u64{longest} + 1));
}

void Channels::settle(u32 router, u64 ports) {
    u64 busy = 0;
    for (u64 left = ports; left != 0; left &= left - 1) {
        const auto port = static_cast<u32>(std::countr_zero(left));
        busy |= u64{states_[port_index(router, port)].is_idle() ? 0u : 1u} << port;
    }
    busy_ports_[router] = busy;
}

void Channels::step_done() {
    std::size_t kept = 0;
    for (const u32 router : awake_) {
        if (busy_ports_[router] != 0) {
            awake_[kept++] = router;
        } else {
            is_awake_[router] = 0;
        }
    }
    awake_.resize(kept);
}

void Channels::route(u32 router, u32 port, u32 vc) {
    const u32 input = vc_index(port_index(router, port), vc);
    Packet& packet = packets_[front(input).packet()];
    const u32 destination = shape_.router_of(packet.destination);
    Offers offers(&offers_[std::size_t{input} * most_offers_], inputs_[input].offers);
    if (destination == router) {
        offers.add({all_bits(vcs_), shape_.port_of(packet.destination), 0});
    } else {
        routing_->route({router, destination, port, vc, packet.half, &used_[port_index(router, 0)]}, random_, offers);
    }
    inputs_[input].since = now_;
    last_progress_ = now_;
}

void Channels::inject(u32 node, Flit flit, u32 vc) {
    const u32 source = source_port(node);
    if (flit.is_head()) {
        outputs_[source].free &= ~(u64{1} << vc);
    }
    use_credit(source, vc);
    if (flit.is_tail()) {
        (takes_empty_vcs_ ? outputs_[source].to_drain : outputs_[source].free) |= u64{1} << vc;
    }
    const u32 port = port_index(shape_.router_of(node), shape_.port_of(node));
    in(1 + node_channel_cycles + times_.arrival).flits.push_back({vc_index(port, vc), flit});
    ++moving_;
    ++flits_inside_;
    last_progress_ = now_;
}

void Channels::note_crossing(u32 out, u32 out_vc, Flit flit) {
    if (flit.is_head()) {
        heads_[out_vc] = now_;
    }
    if (flit.is_tail()) {
        const Packet& packet = packets_[flit.packet()];
        crossings_.push_back({out, packet.tag, packet.flits, heads_[out_vc], now_});
    }
}

void Channels::skip_to(u64 cycle) {
    ensure(is_quiet() && cycle >= now_, "cycles in which something happens");
    now_ = cycle;
}

}  // namespace yantra::noc
