#include "network/noc/channels.hpp"

#include "base/ensure.hpp"

namespace yantra::noc {

namespace {

constexpr u64 routing_purpose = 0x6e6f6301;   // of drawn directions

}  // namespace

Channels::Channels(const Settings& settings, const Shape& shape)
    : shape_(shape),
      layout_(shape, settings.vcs),
      routing_(find_routing(settings.routing)->make(shape, settings.vcs)),
      random_(settings.seed, routing_purpose, 0),
      inputs_(layout_, settings.buffer_flits, routing_->most_offers()),
      outputs_(layout_, settings.buffer_flits,
               find_router(settings.router)->takes_empty_vcs ||
                   (routing_->takes_empty_vcs() && settings.packet_flits > 1)),
      wires_(layout_, shape, find_router(settings.router)->times(settings.router_cycles)),
      crossings_(layout_) {}

void Channels::route(RouterId router, u32 port, u32 vc) {
    const VcId input = layout_.vc(layout_.port(router, port), vc);
    Packet& packet = packets_[inputs_.front(input).packet()];
    const u32 destination = shape_.router_of(packet.destination);
    Offers offers = inputs_.new_offers(input);
    if (destination == router.index()) {
        offers.add({all_bits(layout_.vcs_of_port()), shape_.port_of(packet.destination), 0});
    } else {
        routing_->route({router.index(), destination, port, vc, packet.half, outputs_.used(router)}, random_, offers);
    }
    inputs_[input].since = now();
    last_progress_ = now();
}

void Channels::inject(u32 node, Flit flit, u32 vc) {
    const PortId source = layout_.source(node);
    if (flit.is_head()) {
        outputs_.take(source, vc);
    }
    outputs_.use_credit(source, layout_.vc(source, vc));
    if (flit.is_tail()) {
        outputs_.release(source, vc);
    }
    wires_.inject(layout_.port(RouterId(shape_.router_of(node)), shape_.port_of(node)), vc, flit);
    ++flits_inside_;
    last_progress_ = now();
}

void Channels::skip_to(u64 cycle) {
    ensure(is_quiet() && cycle >= now(), "cycles in which something happens");
    wires_.skip_to(cycle);
}

}  // namespace yantra::noc
