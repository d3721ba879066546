// one_stage: a flit crosses the router in the cycle in which it wins the switch.
//
// The timing of Garnet 2.0 (Agarwal, Krishna, Peh and Jha, "GARNET: a detailed on-chip network
// model inside a full-system simulator", ISPASS 2009; 2.0 is gem5's): with router_cycles R and
// channels of L cycles, a flit arriving at t is at the next router at t + R + L. Routes are known
// on arrival. An input port offers one VC, round-robin, whose flit has a credit or, if a head, a
// free output VC; the pointer moves even on a loss. A head takes the first free VC when crossing;
// it is free again with the tail's credit. Trade-off: fewer cycles than hardware at high clocks; a
// VC's throughput is bounded by the credit loop.
#include <bit>
#include <memory>

#include "base/vector.hpp"
#include "network/noc/channels.hpp"
#include "network/noc/router.hpp"

namespace yantra::noc {

namespace {

class OneStage final : public Router {
public:
    explicit OneStage(Channels& channels)
        : channels_(channels),
          vcs_(channels.vcs()),
          ports_(channels.ports()),
          vc_pointers_(std::size_t{channels.shape().routers()} * ports_),
          input_pointers_(vc_pointers_.size()),
          asks_(ports_),
          asking_(ports_) {}

    void step() override {
        for (const u32 router : channels_.awake()) {
            const u64 ports = channels_.busy_ports(router);
            u64 asked = 0;
            for (u64 left = ports; left != 0; left &= left - 1) {
                const auto port = static_cast<u32>(std::countr_zero(left));
                route_heads(router, port);
                asked |= ask_for_output(router, port);
            }
            for (; asked != 0; asked &= asked - 1) {
                grant(router, static_cast<u32>(std::countr_zero(asked)));
            }
            channels_.settle(router, ports);
        }
        channels_.step_done();
    }

private:
    // Its own VC and, for a head, the free output VC.
    struct Asking {
        u32 vc = 0;
        u32 out_vc = none;
    };

    void route_heads(u32 router, u32 port) {
        PortState& state = channels_.state(channels_.port_index(router, port));
        for (u64 vcs = state.to_route; vcs != 0; vcs &= vcs - 1) {
            channels_.route(router, port, static_cast<u32>(std::countr_zero(vcs)));
        }
        state.to_allocate |= state.to_route;
        state.to_route = 0;
    }

    u64 ask_for_output(u32 router, u32 port) {
        const u32 index = channels_.port_index(router, port);
        const PortState& state = channels_.state(index);
        u64 left = state.to_allocate | state.to_switch;
        while (left != 0) {
            const u32 vc = first_from(left, vc_pointers_[index]);
            left &= ~(u64{1} << vc);
            const u32 out = (state.to_switch >> vc & 1U) != 0 ? body_output(router, index, vc)
                                                            : head_output(router, index, vc, asking_[port].out_vc);
            if (out != none) {
                asking_[port].vc = vc;
                vc_pointers_[index] = static_cast<u16>(vc + 1 == vcs_ ? 0 : vc + 1);
                asks_[out] |= u64{1} << port;
                return u64{1} << out;
            }
        }
        return 0;
    }

    u32 body_output(u32 router, u32 index, u32 vc) const {
        const InputVc& input = channels_.input(channels_.vc_index(index, vc));
        const u64 credits = channels_.output(channels_.port_index(router, input.out_port)).credits;
        return (credits >> input.out_vc & 1U) != 0 ? input.out_port : none;
    }

    u32 head_output(u32 router, u32 index, u32 vc, u32& out_vc) const {
        const u32 own = channels_.vc_index(index, vc);
        const Offer* offers = channels_.offers(own);
        const Offer* best = nullptr;
        for (u32 at = 0; at < channels_.input(own).offers; ++at) {
            const u64 free = offers[at].vcs & channels_.output(channels_.port_index(router, offers[at].port)).free;
            if (free != 0 && (best == nullptr || offers[at].priority > best->priority)) {
                best = &offers[at];
                out_vc = static_cast<u32>(std::countr_zero(free));
            }
        }
        return best == nullptr ? none : best->port;
    }

    void grant(u32 router, u32 out) {
        const u32 out_index = channels_.port_index(router, out);
        const u32 port = first_from(asks_[out], input_pointers_[out_index]);
        asks_[out] = 0;
        input_pointers_[out_index] = static_cast<u16>(port + 1 == ports_ ? 0 : port + 1);
        const auto [vc, out_vc] = asking_[port];
        const u32 index = channels_.port_index(router, port);
        PortState& state = channels_.state(index);
        const u64 bit = u64{1} << vc;
        if ((state.to_allocate & bit) != 0) {
            channels_.take(channels_.vc_index(index, vc), out_index, out_vc);
            state.to_allocate &= ~bit;
            state.to_switch |= bit;
        }
        channels_.cross(router, port, vc);
    }

    Channels& channels_;
    const u32 vcs_;
    const u32 ports_;
    Vector<u16> vc_pointers_;      // by port: of its VCs
    Vector<u16> input_pointers_;   // by output port: of the inputs
    // Of the router being stepped:
    Vector<u64> asks_;             // by output: the inputs that ask, as bits
    Vector<Asking> asking_;        // by input
};

const RegisteredRouter registered_one_stage({
    .name = "one_stage",
    .help = "switch allocation and switch in one cycle (Garnet 2.0)",
    .takes_cycles = true,
    .takes_empty_vcs = true,
    .times = [](u32 router_cycles) { return RouterTimes{0, 1, router_cycles - 1}; },
    .make = [](Channels& channels) -> std::unique_ptr<Router> { return std::make_unique<OneStage>(channels); },
});

}  // namespace

}  // namespace yantra::noc
