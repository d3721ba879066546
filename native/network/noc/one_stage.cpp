// one_stage: a flit crosses the router in the cycle in which it wins the switch, with the timing of
// Garnet 2.0 (Agarwal, Krishna, Peh and Jha, ISPASS 2009): one arriving at t is at the next router
// at t + R + L (router_cycles R, channels of L). Trade-off: fewer cycles than hardware at high
// clocks.
#include <bit>
#include <memory>
#include <vector>

#include "network/noc/channels.hpp"
#include "network/noc/router.hpp"

namespace yantra::noc {

namespace {

class OneStage final : public Router {
public:
    explicit OneStage(Channels& channels)
        : channels_(channels),
          layout_(channels.layout()),
          inputs_(channels.inputs()),
          outputs_(channels.outputs()),
          vc_pointers_(layout_.ports()),
          input_pointers_(layout_.ports()),
          asks_(layout_.ports_of_router()),
          asking_(layout_.ports_of_router()) {}

    void step() override {
        for (const RouterId router : inputs_.awake()) {
            const u64 ports = inputs_.busy_ports(router);
            u64 asked = 0;
            for (u64 left = ports; left != 0; left &= left - 1) {
                const auto port = static_cast<u32>(std::countr_zero(left));
                channels_.route_heads(router, port);
                asked |= ask_for_output(router, port);
            }
            for (; asked != 0; asked &= asked - 1) {
                grant(router, static_cast<u32>(std::countr_zero(asked)));
            }
            inputs_.settle(router, ports);
        }
        inputs_.step_done();
    }

private:
    struct Asking {
        u32 vc = 0;
        u32 out_vc = none;
    };

    u64 ask_for_output(RouterId router, u32 port) {
        const PortId in_port = layout_.port(router, port);
        const PortState& state = inputs_.state(in_port);
        u64 left = state.to_allocate | state.to_switch;
        while (left != 0) {
            const u32 vc = first_from(left, vc_pointers_[in_port]);
            left &= ~(u64{1} << vc);
            const u32 out = (state.to_switch >> vc & 1U) != 0 ? body_output(router, in_port, vc)
                                                            : head_output(router, in_port, vc, asking_[port].out_vc);
            if (out != none) {
                asking_[port].vc = vc;
                vc_pointers_[in_port] = static_cast<u16>(vc + 1 == layout_.vcs_of_port() ? 0 : vc + 1);
                asks_[out] |= u64{1} << port;
                return u64{1} << out;
            }
        }
        return 0;
    }

    u32 body_output(RouterId router, PortId in_port, u32 vc) const {
        const InputVc& input = inputs_[layout_.vc(in_port, vc)];
        return outputs_.has_credit(layout_.port(router, input.out_port), input.out_vc) ? input.out_port : none;
    }

    u32 head_output(RouterId router, PortId in_port, u32 vc, u32& out_vc) const {
        const VcId own = layout_.vc(in_port, vc);
        const Offer* offers = inputs_.offers(own);
        const Offer* best = nullptr;
        for (u32 at = 0; at < inputs_[own].offers; ++at) {
            const u64 free = offers[at].vcs & outputs_[layout_.port(router, offers[at].port)].free;
            if (free != 0 && (best == nullptr || offers[at].priority > best->priority)) {
                best = &offers[at];
                out_vc = static_cast<u32>(std::countr_zero(free));
            }
        }
        return best == nullptr ? none : best->port;
    }

    void grant(RouterId router, u32 out) {
        const PortId out_port = layout_.port(router, out);
        const u32 port = first_from(asks_[out], input_pointers_[out_port]);
        asks_[out] = 0;
        input_pointers_[out_port] = static_cast<u16>(port + 1 == layout_.ports_of_router() ? 0 : port + 1);
        const auto [vc, out_vc] = asking_[port];
        if ((inputs_.state(layout_.port(router, port)).to_allocate >> vc & 1U) != 0) {
            channels_.allocate(router, port, vc, out, out_vc);
        }
        channels_.cross(router, port, vc);
    }

    Channels& channels_;
    const Layout layout_;
    Inputs& inputs_;
    const Outputs& outputs_;
    IdVector<PortId, u16> vc_pointers_;      // of its VCs
    IdVector<PortId, u16> input_pointers_;   // by output port: of the inputs
    // Of the router being stepped:
    std::vector<u64> asks_;             // by output: the inputs that ask, as bits
    std::vector<Asking> asking_;        // by input
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
