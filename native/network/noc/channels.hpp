// Channels: buffers, channels and credits of all routers, of any kind.
//
// Input VCs have private buffers. A flit reserves a slot behind the channel; the credit returns
// when it leaves there. A port is `router * ports + port`, a VC that times `vcs` plus the VC; an
// output VC takes its port's number, those of sources follow. Flat arrays and bit words, since all
// is visited every cycle. Trade-off: at most 64 VCs and 64 ports.
#pragma once

#include <bit>

#include "base/pool.hpp"
#include "base/types.hpp"
#include "base/vector.hpp"
#include "engine/rng.hpp"
#include "network/noc/packet.hpp"
#include "network/noc/router.hpp"
#include "network/noc/routing.hpp"
#include "network/noc/settings.hpp"
#include "network/noc/shape.hpp"

namespace yantra::noc {

// The first bit from `from`, cyclically. Precondition: some bit is set.
inline u32 first_from(u64 bits, u32 from) {
    const u64 rest = bits >> from << from;
    return static_cast<u32>(std::countr_zero(rest != 0 ? rest : bits));
}

// VCs of a port as bits: head without route; route without output VC; output VC and a flit.
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

// As bits of VCs.
struct OutputPort {
    u64 free = 0;          // no packet has it
    u64 credits = 0;       // a slot is free behind it
    u64 to_drain = 0;      // its tail has left; free when the buffer behind is empty
};

// From the switch crossing of a packet's head to that of its tail.
struct Crossing {
    u32 port_index = 0;
    u32 tag = 0;       // the packet's
    u32 flits = 0;
    u64 first = 0;     // cycles
    u64 last = 0;
};

class Channels {
public:
    Channels(const Settings& settings, const Shape& shape);

    const Shape& shape() const { return shape_; }
    u32 vcs() const { return vcs_; }
    u32 ports() const { return ports_; }
    u64 now() const { return now_; }
    u32 port_index(u32 router, u32 port) const { return router * ports_ + port; }
    u32 vc_index(u32 port_index, u32 vc) const { return port_index * vcs_ + vc; }
    u32 source_port(u32 node) const { return shape_.routers() * ports_ + node; }

    PortState& state(u32 port_index) { return states_[port_index]; }
    const PortState& state(u32 port_index) const { return states_[port_index]; }
    InputVc& input(u32 vc_index) { return inputs_[vc_index]; }
    const InputVc& input(u32 vc_index) const { return inputs_[vc_index]; }
    OutputPort& output(u32 port_index) { return outputs_[port_index]; }
    const OutputPort& output(u32 port_index) const { return outputs_[port_index]; }
    const Offer* offers(u32 vc_index) const { return &offers_[std::size_t{vc_index} * most_offers_]; }
    u32 owner(u32 vc_index) const { return owners_[vc_index]; }   // input VC of the same router
    u32 far_end(u32 port_index) const { return far_ends_[port_index]; }
    Flit front(u32 vc_index) const {
        return flits_[std::size_t{vc_index} * buffer_flits_ + inputs_[vc_index].first];
    }
    Pool<Packet>& packets() { return packets_; }
    const Pool<Packet>& packets() const { return packets_; }

    // As bits.
    u64 busy_ports(u32 router) const { return busy_ports_[router]; }
    // Routers with work; step_done() puts the others to sleep.
    const Vector<u32>& awake() const { return awake_; }
    void step_done();
    void settle(u32 router, u64 ports);

    // The head then waits for an output VC.
    void route(u32 router, u32 port, u32 vc);
    void take(u32 input, u32 port_index, u32 out_vc);
    // Precondition: its output VC has a credit.
    void cross(u32 router, u32 port, u32 vc);
    void inject(u32 node, Flit flit, u32 vc);

    // Flits at their nodes go to `eject`, with the node.
    template <class Eject>
    void begin_cycle(Eject&& eject);
    void end_cycle() { ++now_; }
    // Precondition: is_quiet().
    void skip_to(u64 cycle);
    // skip_to() ignores credits under way.
    bool is_empty() const { return flits_inside_ == 0; }
    bool is_quiet() const { return flits_inside_ == 0 && moving_ == 0; }

    u64 flits_inside() const { return flits_inside_; }
    u64 flit_hops() const { return flit_hops_; }      // flits through routers
    u64 crossed(u32 port_index) const { return crossed_[port_index]; }
    u64 packets_crossed(u32 port_index) const { return packets_crossed_[port_index]; }
    // Until they are taken.
    void keep_crossings() { heads_.resize(owners_.size()); }
    Vector<Crossing>& crossings() { return crossings_; }
    u64 last_progress() const { return last_progress_; }
    // After this many cycles without progress nothing is under way.
    u64 patience() const { return slots_.size() + 2; }

private:
    struct Arrival {
        u32 vc_index;
        Flit flit;
    };
    struct Slot {
        Vector<Arrival> flits;
        Vector<Arrival> ejected;     // by output VC
        Vector<u32> credits;         // output VCs
    };

    Slot& in(u32 cycles) { return slots_[(now_ + cycles) & (slots_.size() - 1)]; }
    void arrive(const Arrival& arrival);
    void return_credit(u32 vc_index);
    void use_credit(u32 port_index, u32 vc);
    void wake(u32 router);
    [[gnu::noinline, gnu::cold]] void note_crossing(u32 out, u32 out_vc, Flit flit);

    const Shape& shape_;
    const u32 vcs_;
    const u32 ports_;
    const u32 buffer_flits_;
    const RouterTimes times_;
    std::unique_ptr<Routing> routing_;
    const u32 most_offers_;
    const bool takes_empty_vcs_;
    Rng random_;
    u64 now_ = 0;

    Vector<PortState> states_;        // by port
    Vector<OutputPort> outputs_;      // by port, then by node: the sources
    Vector<u32> used_;                // by port: slots taken behind it, of all VCs
    Vector<u32> far_ends_;            // by port: the other end of its channel, or none
    Vector<u32> upstream_;            // by port: that whose credits it returns
    Vector<u32> out_cycles_;          // by port: from the switch to the channel's end
    Vector<u32> credit_cycles_;       // by port: until an input port's credit is back
    Vector<u64> crossed_;             // by port: flits
    Vector<u64> packets_crossed_;
    Vector<InputVc> inputs_;          // by VC
    Vector<Offer> offers_;            // by VC
    Vector<u32> owners_;              // by output VC: its input VC
    Vector<u32> slots_taken_;         // by output VC, then by those of the sources
    Vector<Flit> flits_;              // by VC: a ring of slots
    Vector<u64> busy_ports_;          // by router
    Vector<u8> is_awake_;             // by router
    Vector<u32> awake_;
    Pool<Packet> packets_;
    Vector<Slot> slots_;
    u64 flits_inside_ = 0;
    u64 moving_ = 0;                       // entries of the slots
    u64 flit_hops_ = 0;
    u64 last_progress_ = 0;
    Vector<u64> heads_;               // by output VC, if crossings are kept: when the head crossed
    Vector<Crossing> crossings_;
};

inline void Channels::wake(u32 router) {
    if (is_awake_[router] == 0) {
        is_awake_[router] = 1;
        awake_.push_back(router);
    }
}

inline void Channels::use_credit(u32 port_index, u32 vc) {
    if (++slots_taken_[vc_index(port_index, vc)] == buffer_flits_) {
        outputs_[port_index].credits &= ~(u64{1} << vc);
    }
}

inline void Channels::return_credit(u32 vc_index) {
    const u32 port = vc_index / vcs_;
    const u64 bit = u64{1} << vc_index % vcs_;
    OutputPort& output = outputs_[port];
    output.credits |= bit;
    --slots_taken_[vc_index];
    if (port < used_.size()) {
        --used_[port];
    }
    if ((output.to_drain & bit) != 0 && slots_taken_[vc_index] == 0) {
        output.to_drain &= ~bit;
        output.free |= bit;
    }
}

inline void Channels::arrive(const Arrival& arrival) {
    InputVc& input = inputs_[arrival.vc_index];
    u32 slot = input.first + input.flits;
    slot = slot >= buffer_flits_ ? slot - buffer_flits_ : slot;
    flits_[std::size_t{arrival.vc_index} * buffer_flits_ + slot] = arrival.flit;
    if (++input.flits > 1) {
        return;
    }
    const u32 port = arrival.vc_index / vcs_;
    const u64 bit = u64{1} << arrival.vc_index % vcs_;
    PortState& state = states_[port];
    (input.is_held ? state.to_switch : state.to_route) |= bit;
    input.since = now_;
    const u32 router = port / ports_;
    busy_ports_[router] |= u64{1} << port % ports_;
    wake(router);
}

template <class Eject>
void Channels::begin_cycle(Eject&& eject) {
    Slot& slot = in(0);
    moving_ -= slot.flits.size() + slot.ejected.size() + slot.credits.size();
    for (const u32 vc_index : slot.credits) {
        return_credit(vc_index);
    }
    for (const Arrival& arrival : slot.flits) {
        arrive(arrival);
    }
    for (std::size_t at = 0; at < slot.ejected.size(); ++at) {
        const auto [vc_index, flit] = slot.ejected[at];
        const u32 port = vc_index / vcs_;
        in(2).credits.push_back(vc_index);   // the channel back, and the cycle to send it
        ++moving_;
        --flits_inside_;
        const u32 node = port / ports_ * shape_.nodes_per_router() + port % ports_ - shape_.first_local();
        eject(node, flit);
    }
    slot.flits.clear();
    slot.ejected.clear();
    slot.credits.clear();
}

inline void Channels::take(u32 input, u32 port_index, u32 out_vc) {
    InputVc& taker = inputs_[input];
    taker.out_port = static_cast<u16>(port_index % ports_);
    taker.out_vc = static_cast<u16>(out_vc);
    taker.is_held = true;
    taker.since = now_;
    outputs_[port_index].free &= ~(u64{1} << out_vc);
    owners_[vc_index(port_index, out_vc)] = input;
    last_progress_ = now_;
}

inline void Channels::cross(u32 router, u32 port, u32 vc) {
    const u32 in_port = port_index(router, port);
    const u32 in_vc = vc_index(in_port, vc);
    InputVc& input = inputs_[in_vc];
    const Flit flit = flits_[std::size_t{in_vc} * buffer_flits_ + input.first];
    input.first = input.first + 1 == buffer_flits_ ? 0 : input.first + 1;
    --input.flits;
    input.since = now_;
    const u32 out = port_index(router, input.out_port);
    const u32 out_vc = vc_index(out, input.out_vc);
    use_credit(out, input.out_vc);
    ++used_[out];
    ++crossed_[out];
    const u32 far = far_ends_[out];
    if (far == none) {
        in(out_cycles_[out]).ejected.push_back({out_vc, flit});
    } else {
        in(out_cycles_[out]).flits.push_back({vc_index(far, input.out_vc), flit});
        if (!heads_.empty()) [[unlikely]] {
            note_crossing(out, out_vc, flit);
        }
    }
    in(credit_cycles_[in_port]).credits.push_back(vc_index(upstream_[in_port], vc));
    moving_ += 2;
    ++flit_hops_;
    last_progress_ = now_;
    if (flit.is_head()) {
        ++packets_[flit.packet()].routers;
        ++packets_crossed_[out];
    }
    PortState& state = states_[in_port];
    const u64 bit = u64{1} << vc;
    if (flit.is_tail()) {
        (takes_empty_vcs_ ? outputs_[out].to_drain : outputs_[out].free) |= u64{1} << input.out_vc;
        input.is_held = false;
        state.to_switch &= ~bit;
        state.to_route |= input.flits > 0 ? bit : 0;
    } else if (input.flits == 0) {
        state.to_switch &= ~bit;
    }
}

}  // namespace yantra::noc
