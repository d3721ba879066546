// Inputs: the buffer of each input VC, and what its front waits for.
#pragma once

#include "base/ids.hpp"
#include "network/noc/layout.hpp"
#include "network/noc/packet.hpp"
#include "network/noc/routing.hpp"

namespace yantra::noc {

// VCs as bits: head without route; route without output VC; output VC and a flit.
struct PortState {
    u64 to_route = 0;
    u64 to_allocate = 0;
    u64 to_switch = 0;

    bool is_idle() const { return (to_route | to_allocate | to_switch) == 0; }
};

struct InputVc {
    u32 first = 0;         // slot of the front flit
    u32 flits = 0;
    u32 offers = 0;        // how many
    u16 out_port = 0;
    u16 out_vc = 0;
    bool is_held = false;  // by the front packet, with an output VC
    u64 since = 0;         // cycle in which the front flit came
};

class Inputs {
public:
    Inputs(const Layout& layout, u32 buffer_flits, u32 most_offers)
        : layout_(layout),
          buffer_flits_(buffer_flits),
          most_offers_(most_offers),
          states_(layout.ports()),
          vcs_(layout.vcs()),
          offers_(std::size_t{layout.vcs()} * most_offers),
          flits_(std::size_t{layout.vcs()} * buffer_flits),
          busy_ports_(layout.routers()),
          is_awake_(layout.routers()) {}

    PortState& state(PortId port) { return states_[port]; }
    const PortState& state(PortId port) const { return states_[port]; }
    InputVc& operator[](VcId vc) { return vcs_[vc]; }
    const InputVc& operator[](VcId vc) const { return vcs_[vc]; }
    const Offer* offers(VcId vc) const { return &offers_[std::size_t{vc.index()} * most_offers_]; }
    // Instead of those before.
    Offers new_offers(VcId vc) { return {&offers_[std::size_t{vc.index()} * most_offers_], vcs_[vc].offers}; }
    Flit front(VcId vc) const { return flits_[slot(vc, vcs_[vc].first)]; }

    void arrive(VcId vc, Flit flit, u64 now);
    // `bit`, here and below, is the VC's within the port.
    void is_allocated(PortId port, VcId vc, u64 bit, u32 out_port, u32 out_vc, u64 now) {
        InputVc& taker = vcs_[vc];
        taker.out_port = static_cast<u16>(out_port);
        taker.out_vc = static_cast<u16>(out_vc);
        taker.is_held = true;
        taker.since = now;
        states_[port].to_allocate &= ~bit;
        states_[port].to_switch |= bit;
    }
    Flit take_front(PortId port, VcId vc, u64 bit, u64 now);

    // As bits.
    u64 busy_ports(RouterId router) const { return busy_ports_[router]; }
    // step_done() puts the others to sleep.
    const std::vector<RouterId>& awake() const { return awake_; }
    void settle(RouterId router, u64 ports);
    void step_done();

private:
    std::size_t slot(VcId vc, u32 at) const { return std::size_t{vc.index()} * buffer_flits_ + at; }

    const Layout layout_;
    const u32 buffer_flits_;
    const u32 most_offers_;
    IdVector<PortId, PortState> states_;
    IdVector<VcId, InputVc> vcs_;
    std::vector<Offer> offers_;            // by VC
    std::vector<Flit> flits_;              // by VC: a ring of slots
    IdVector<RouterId, u64> busy_ports_;
    IdVector<RouterId, u8> is_awake_;
    std::vector<RouterId> awake_;
};

inline void Inputs::arrive(VcId vc, Flit flit, u64 now) {
    InputVc& input = vcs_[vc];
    const u32 at = input.first + input.flits;
    flits_[slot(vc, at >= buffer_flits_ ? at - buffer_flits_ : at)] = flit;
    if (++input.flits > 1) {
        return;
    }
    const PortId port = layout_.port_of(vc);
    PortState& state = states_[port];
    (input.is_held ? state.to_switch : state.to_route) |= u64{1} << layout_.within_port(vc);
    input.since = now;
    const RouterId router = layout_.router_of(port);
    busy_ports_[router] |= u64{1} << layout_.within_router(port);
    if (is_awake_[router] == 0) {
        is_awake_[router] = 1;
        awake_.push_back(router);
    }
}

inline Flit Inputs::take_front(PortId port, VcId vc, u64 bit, u64 now) {
    InputVc& input = vcs_[vc];
    const Flit flit = flits_[slot(vc, input.first)];
    input.first = input.first + 1 == buffer_flits_ ? 0 : input.first + 1;
    --input.flits;
    input.since = now;
    PortState& state = states_[port];
    if (flit.is_tail()) {
        input.is_held = false;
        state.to_switch &= ~bit;
        state.to_route |= input.flits > 0 ? bit : 0;
    } else if (input.flits == 0) {
        state.to_switch &= ~bit;
    }
    return flit;
}

}  // namespace yantra::noc
