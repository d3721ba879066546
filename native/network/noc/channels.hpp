// Channels: inputs, wires and outputs of all routers, as flat arrays and bit words.
#pragma once

#include <memory>

#include "base/types.hpp"
#include "engine/rng.hpp"
#include "network/noc/crossings.hpp"
#include "network/noc/inputs.hpp"
#include "network/noc/outputs.hpp"
#include "network/noc/settings.hpp"
#include "network/noc/wires.hpp"

namespace yantra::noc {

class Channels {
public:
    Channels(const Settings& settings, const Shape& shape);

    const Layout& layout() const { return layout_; }
    Inputs& inputs() { return inputs_; }
    const Inputs& inputs() const { return inputs_; }
    const Outputs& outputs() const { return outputs_; }
    const Wires& wires() const { return wires_; }
    Crossings& crossings() { return crossings_; }
    const Crossings& crossings() const { return crossings_; }
    PacketPool& packets() { return packets_; }
    u64 now() const { return wires_.now(); }

    void route_heads(RouterId router, u32 port) {
        PortState& state = inputs_.state(layout_.port(router, port));
        for (u64 vcs = state.to_route; vcs != 0; vcs &= vcs - 1) {
            route(router, port, static_cast<u32>(std::countr_zero(vcs)));
        }
        state.to_allocate |= state.to_route;
        state.to_route = 0;
    }
    void allocate(RouterId router, u32 port, u32 vc, u32 out_port, u32 out_vc) {
        const PortId in = layout_.port(router, port);
        const VcId input = layout_.vc(in, vc);
        const PortId out = layout_.port(router, out_port);
        inputs_.is_allocated(in, input, u64{1} << vc, out_port, out_vc, now());
        outputs_.take(out, out_vc, layout_.vc(out, out_vc), input);
        last_progress_ = now();
    }
    // Precondition: its output VC has a credit.
    void cross(RouterId router, u32 port, u32 vc);
    void inject(u32 node, Flit flit, u32 vc);

    template <class Eject>
    void begin_cycle(Eject&& eject);
    void end_cycle() { wires_.end_cycle(); }
    // Precondition: is_quiet().
    void skip_to(u64 cycle);
    // skip_to() ignores credits under way.
    bool is_empty() const { return flits_inside_ == 0; }
    bool is_quiet() const { return is_empty() && wires_.are_empty(); }

    u64 flits_inside() const { return flits_inside_; }
    u64 last_progress() const { return last_progress_; }
    bool is_still() const { return now() - last_progress_ > wires_.patience(); }

private:
    void route(RouterId router, u32 port, u32 vc);

    const Shape& shape_;
    const Layout layout_;
    const std::unique_ptr<Routing> routing_;
    Rng random_;
    Inputs inputs_;
    Outputs outputs_;
    Wires wires_;
    Crossings crossings_;
    PacketPool packets_;
    u64 flits_inside_ = 0;
    u64 last_progress_ = 0;
};

template <class Eject>
void Channels::begin_cycle(Eject&& eject) {
    Wires::Slot& slot = wires_.arriving();
    for (const VcId vc : slot.credits) {
        outputs_.return_credit(vc);
    }
    for (const Wires::Arrival& arrival : slot.flits) {
        inputs_.arrive(arrival.vc, arrival.flit, now());
    }
    for (const auto [vc, flit] : slot.ejected) {
        const PortId port = layout_.port_of(vc);
        wires_.return_credit_of_node(vc);
        --flits_inside_;
        eject(shape_.node_at(layout_.router_of(port).index(), layout_.within_router(port)), flit);
    }
    slot.flits.clear();
    slot.ejected.clear();
    slot.credits.clear();
}

inline void Channels::cross(RouterId router, u32 port, u32 vc) {
    const PortId in = layout_.port(router, port);
    const VcId in_vc = layout_.vc(in, vc);
    const PortId out = layout_.port(router, inputs_[in_vc].out_port);
    const u32 out_vc = inputs_[in_vc].out_vc;
    const u64 now = wires_.now();
    const Flit flit = inputs_.take_front(in, in_vc, u64{1} << vc, now);
    outputs_.use_slot(out, layout_.vc(out, out_vc));
    wires_.send(out, out_vc, flit);
    wires_.return_credit(in, vc);
    crossings_.count(out, flit);
    if (crossings_.are_kept() && !wires_.far_end(out).is_none()) [[unlikely]] {
        crossings_.note(out, out_vc, flit, packets_[flit.packet()], now);
    }
    if (flit.is_head()) {
        ++packets_[flit.packet()].routers;
    }
    if (flit.is_tail()) {
        outputs_.release(out, out_vc);
    }
    last_progress_ = now;
}

}  // namespace yantra::noc
