// input_queued: a VC router of four one-cycle stages (Dally and Towles, "Principles and Practices
// of Interconnection Networks", 2004, chapter 16), with the timing of BookSim 2's `iq` (Jiang et
// al., ISPASS 2013). To use a link fully, a VC's buffer needs four flits plus the credit's way: 5
// cycles on channels of one.
#include <bit>
#include <memory>
#include <vector>

#include "network/noc/channels.hpp"
#include "network/noc/router.hpp"

namespace yantra::noc {

namespace {

struct VcRequest {
    u32 port;
    u32 vc;
    u32 wanted;    // out_port * vcs + out_vc
};

class InputQueued final : public Router {
public:
    explicit InputQueued(Channels& channels)
        : channels_(channels),
          layout_(channels.layout()),
          inputs_(channels.inputs()),
          outputs_(channels.outputs()),
          vcs_(layout_.vcs_of_port()),
          ports_(layout_.ports_of_router()),
          input_pointers_(layout_.vcs()),
          output_pointers_(layout_.vcs()),
          switch_(layout_.ports()),
          best_(std::size_t{ports_} * vcs_, none),
          asks_(ports_),
          asking_vc_(ports_) {}

    void step() override {
        for (const RouterId router : inputs_.awake()) {
            const u64 ports = inputs_.busy_ports(router);
            ask_for_vcs(router, ports);
            route_heads(router, ports);
            cross_switch(router, ports);
            grant_vcs(router);
            inputs_.settle(router, ports);
        }
        inputs_.step_done();
    }

private:
    struct SwitchPointers {
        u16 output_of_input = 0;
        u16 input_of_output = 0;
        u16 vc = 0;
    };

    void ask_for_vcs(RouterId router, u64 ports) {
        requests_.clear();
        for (u64 left = ports; left != 0; left &= left - 1) {
            const auto port = static_cast<u32>(std::countr_zero(left));
            for (u64 vcs = inputs_.state(layout_.port(router, port)).to_allocate; vcs != 0; vcs &= vcs - 1) {
                const auto vc = static_cast<u32>(std::countr_zero(vcs));
                ask_for_vc(router, port, vc);
            }
        }
    }

    void ask_for_vc(RouterId router, u32 port, u32 vc) {
        const VcId input = layout_.vc(layout_.port(router, port), vc);
        const u32 wanted = wanted_vc(router, input);
        if (wanted == none) {
            return;
        }
        const u32 own = port * vcs_ + vc;
        const u32 pointer = output_pointers_[output_vc(router, wanted)];
        const u32 before = best_[wanted];
        if (before == none || behind(own, pointer) < behind(before, pointer)) {
            best_[wanted] = own;
        }
        requests_.push_back({port, vc, wanted});
    }

    VcId output_vc(RouterId router, u32 within) const { return VcId(router.index() * ports_ * vcs_ + within); }

    // Cyclic distance.
    u32 behind(u32 own, u32 pointer) const { return own >= pointer ? own - pointer : own + ports_ * vcs_ - pointer; }

    u32 wanted_vc(RouterId router, VcId input) const {
        const Offer* offers = inputs_.offers(input);
        const u32 pointer = input_pointers_[input];
        u32 wanted = none;
        u32 priority = 0;
        for (u32 at = 0; at < inputs_[input].offers; ++at) {
            const Offer& offer = offers[at];
            const u64 free = offer.vcs & outputs_[layout_.port(router, offer.port)].free;
            if (free == 0 || (wanted != none && offer.priority < priority)) {
                continue;
            }
            const u32 from = offer.port == pointer / vcs_ ? pointer % vcs_ : 0;
            const u32 found = offer.port * vcs_ + first_from(free, from);
            if (wanted == none || offer.priority > priority || behind(found, pointer) < behind(wanted, pointer)) {
                wanted = found;
                priority = offer.priority;
            }
        }
        return wanted;
    }

    void grant_vcs(RouterId router) {
        for (const VcRequest& request : requests_) {
            const u32 own = request.port * vcs_ + request.vc;
            if (best_[request.wanted] != own) {
                continue;
            }
            const VcId input = layout_.vc(layout_.port(router, request.port), request.vc);
            const u32 all = ports_ * vcs_;
            channels_.allocate(router, request.port, request.vc, request.wanted / vcs_, request.wanted % vcs_);
            input_pointers_[input] = static_cast<u16>(request.wanted + 1 == all ? 0 : request.wanted + 1);
            output_pointers_[output_vc(router, request.wanted)] = static_cast<u16>(own + 1 == all ? 0 : own + 1);
        }
        for (const VcRequest& request : requests_) {
            best_[request.wanted] = none;
        }
    }

    void route_heads(RouterId router, u64 ports) {
        for (u64 left = ports; left != 0; left &= left - 1) {
            channels_.route_heads(router, static_cast<u32>(std::countr_zero(left)));
        }
    }

    void cross_switch(RouterId router, u64 ports) {
        u64 asked = 0;
        for (u64 left = ports; left != 0; left &= left - 1) {
            asked |= ask_for_output(router, static_cast<u32>(std::countr_zero(left)));
        }
        for (; asked != 0; asked &= asked - 1) {
            const auto out = static_cast<u32>(std::countr_zero(asked));
            const PortId out_port = layout_.port(router, out);
            const u32 port = first_from(asks_[out], switch_[out_port].input_of_output);
            asks_[out] = 0;
            const u32 vc = asking_vc_[port];
            SwitchPointers& pointers = switch_[layout_.port(router, port)];
            pointers.output_of_input = static_cast<u16>(out + 1 == ports_ ? 0 : out + 1);
            pointers.vc = static_cast<u16>(vc + 1 == vcs_ ? 0 : vc + 1);
            switch_[out_port].input_of_output = static_cast<u16>(port + 1 == ports_ ? 0 : port + 1);
            channels_.cross(router, port, vc);
        }
    }

    // As a bit.
    u64 ask_for_output(RouterId router, u32 port) {
        const PortId in_port = layout_.port(router, port);
        const SwitchPointers& pointers = switch_[in_port];
        u64 outputs = 0;
        u64 left = inputs_.state(in_port).to_switch;
        while (left != 0) {
            const u32 vc = first_from(left, pointers.vc);
            left &= ~(u64{1} << vc);
            const InputVc& input = inputs_[layout_.vc(in_port, vc)];
            const u64 bit = u64{1} << input.out_port;
            if ((outputs & bit) == 0 && outputs_.has_credit(layout_.port(router, input.out_port), input.out_vc)) {
                outputs |= bit;
                vc_for_[input.out_port] = static_cast<u16>(vc);
            }
        }
        if (outputs == 0) {
            return 0;
        }
        const u32 out = first_from(outputs, pointers.output_of_input);
        asking_vc_[port] = vc_for_[out];
        asks_[out] |= u64{1} << port;
        return u64{1} << out;
    }

    Channels& channels_;
    const Layout layout_;
    Inputs& inputs_;
    const Outputs& outputs_;
    const u32 vcs_;
    const u32 ports_;
    IdVector<VcId, u16> input_pointers_;    // by input VC: next output VC of its router
    IdVector<VcId, u16> output_pointers_;   // by output VC: next input VC
    IdVector<PortId, SwitchPointers> switch_;
    // Of the router being stepped:
    std::vector<VcRequest> requests_;
    std::vector<u32> best_;              // by output VC: the input VC that gets it
    std::vector<u64> asks_;              // by output: the inputs that ask, as bits
    std::vector<u16> asking_vc_;         // by input
    u16 vc_for_[64] = {};                // by output, of one input
};

const RegisteredRouter registered_input_queued({
    .name = "input_queued",
    .help = "four stages: route, VC allocation, switch allocation, switch (BookSim 2)",
    .times = [](u32) { return RouterTimes{2, 2, 0}; },
    .make = [](Channels& channels) -> std::unique_ptr<Router> { return std::make_unique<InputQueued>(channels); },
});

}  // namespace

}  // namespace yantra::noc
