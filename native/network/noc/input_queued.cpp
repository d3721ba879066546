// input_queued: a router of four one-cycle stages: route, allocate an output VC, allocate the
// switch, cross it.
//
// The textbook VC router (Dally and Towles, "Principles and Practices of Interconnection Networks",
// 2004, chapter 16), with the timing of BookSim 2's `iq` (Jiang et al., "A detailed and flexible
// cycle-accurate network-on-chip simulator", ISPASS 2013). Body flits need only the switch.
// Allocation is input first with round-robin arbiters, whose pointers move if both sides grant. An
// output VC is free once the tail has crossed; a credit leaves with the flit. For one VC to use a
// link fully, its buffer needs four flits plus the credit's way: 5 cycles on channels of one.
#include <bit>
#include <memory>

#include "base/vector.hpp"
#include "network/noc/channels.hpp"
#include "network/noc/router.hpp"

namespace yantra::noc {

namespace {

struct VcRequest {
    u32 port;
    u32 vc;
    u32 wanted;    // out_port * vcs + out_vc
};

// Switch allocation: an input asks for one output, an output grants one input.
class InputQueued final : public Router {
public:
    explicit InputQueued(Channels& channels)
        : channels_(channels),
          vcs_(channels.vcs()),
          ports_(channels.ports()),
          input_pointers_(std::size_t{channels.shape().routers()} * ports_ * vcs_),
          output_pointers_(input_pointers_.size()),
          switch_(std::size_t{channels.shape().routers()} * ports_),
          best_(std::size_t{ports_} * vcs_, none),
          asks_(ports_),
          asking_vc_(ports_) {}

    void step() override {
        for (const u32 router : channels_.awake()) {
            const u64 ports = channels_.busy_ports(router);
            ask_for_vcs(router, ports);
            route_heads(router, ports);
            cross_switch(router, ports);
            grant_vcs(router);
            channels_.settle(router, ports);
        }
        channels_.step_done();
    }

private:
    struct SwitchPointers {
        u16 output_of_input = 0;
        u16 input_of_output = 0;
        u16 vc = 0;
    };

    // Requests see VCs as at the cycle's start; grants come after the switch.
    void ask_for_vcs(u32 router, u64 ports) {
        requests_.clear();
        for (u64 left = ports; left != 0; left &= left - 1) {
            const auto port = static_cast<u32>(std::countr_zero(left));
            const u32 index = channels_.port_index(router, port);
            for (u64 vcs = channels_.state(index).to_allocate; vcs != 0; vcs &= vcs - 1) {
                const auto vc = static_cast<u32>(std::countr_zero(vcs));
                ask_for_vc(router, port, vc);
            }
        }
    }

    void ask_for_vc(u32 router, u32 port, u32 vc) {
        const u32 input = channels_.vc_index(channels_.port_index(router, port), vc);
        const u32 wanted = wanted_vc(router, input);
        if (wanted == none) {
            return;
        }
        const u32 own = port * vcs_ + vc;
        const u32 pointer = output_pointers_[std::size_t{router} * ports_ * vcs_ + wanted];
        const u32 before = best_[wanted];
        if (before == none || behind(own, pointer) < behind(before, pointer)) {
            best_[wanted] = own;
        }
        requests_.push_back({port, vc, wanted});
    }

    // Cyclic distance.
    u32 behind(u32 own, u32 pointer) const { return own >= pointer ? own - pointer : own + ports_ * vcs_ - pointer; }

    // Among free output VCs by priority, then round-robin.
    u32 wanted_vc(u32 router, u32 input) const {
        const Offer* offers = channels_.offers(input);
        const u32 pointer = input_pointers_[input];
        u32 wanted = none;
        u32 priority = 0;
        for (u32 at = 0; at < channels_.input(input).offers; ++at) {
            const Offer& offer = offers[at];
            const u64 free = offer.vcs & channels_.output(channels_.port_index(router, offer.port)).free;
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

    void grant_vcs(u32 router) {
        for (const VcRequest& request : requests_) {
            const u32 own = request.port * vcs_ + request.vc;
            if (best_[request.wanted] != own) {
                continue;
            }
            const u32 port = channels_.port_index(router, request.port);
            const u32 input = channels_.vc_index(port, request.vc);
            const u32 all = ports_ * vcs_;
            channels_.take(input, channels_.port_index(router, request.wanted / vcs_), request.wanted % vcs_);
            input_pointers_[input] = static_cast<u16>(request.wanted + 1 == all ? 0 : request.wanted + 1);
            output_pointers_[std::size_t{router} * all + request.wanted] = static_cast<u16>(own + 1 == all ? 0 : own + 1);
            PortState& state = channels_.state(port);
            const u64 bit = u64{1} << request.vc;
            state.to_allocate &= ~bit;
            state.to_switch |= bit;
        }
        for (const VcRequest& request : requests_) {
            best_[request.wanted] = none;
        }
    }

    void route_heads(u32 router, u64 ports) {
        for (u64 left = ports; left != 0; left &= left - 1) {
            const auto port = static_cast<u32>(std::countr_zero(left));
            PortState& state = channels_.state(channels_.port_index(router, port));
            for (u64 vcs = state.to_route; vcs != 0; vcs &= vcs - 1) {
                channels_.route(router, port, static_cast<u32>(std::countr_zero(vcs)));
            }
            state.to_allocate |= state.to_route;
            state.to_route = 0;
        }
    }

    void cross_switch(u32 router, u64 ports) {
        u64 asked = 0;
        for (u64 left = ports; left != 0; left &= left - 1) {
            asked |= ask_for_output(router, static_cast<u32>(std::countr_zero(left)));
        }
        for (; asked != 0; asked &= asked - 1) {
            const auto out = static_cast<u32>(std::countr_zero(asked));
            const u32 out_index = channels_.port_index(router, out);
            const u32 port = first_from(asks_[out], switch_[out_index].input_of_output);
            asks_[out] = 0;
            const u32 vc = asking_vc_[port];
            SwitchPointers& pointers = switch_[channels_.port_index(router, port)];
            pointers.output_of_input = static_cast<u16>(out + 1 == ports_ ? 0 : out + 1);
            pointers.vc = static_cast<u16>(vc + 1 == vcs_ ? 0 : vc + 1);
            switch_[out_index].input_of_output = static_cast<u16>(port + 1 == ports_ ? 0 : port + 1);
            channels_.cross(router, port, vc);
        }
    }

    // As a bit: round-robin over VCs of each output, then over outputs.
    u64 ask_for_output(u32 router, u32 port) {
        const u32 index = channels_.port_index(router, port);
        const SwitchPointers& pointers = switch_[index];
        u64 outputs = 0;
        u64 left = channels_.state(index).to_switch;
        while (left != 0) {
            const u32 vc = first_from(left, pointers.vc);
            left &= ~(u64{1} << vc);
            const InputVc& input = channels_.input(channels_.vc_index(index, vc));
            const u64 bit = u64{1} << input.out_port;
            const u64 credits = channels_.output(channels_.port_index(router, input.out_port)).credits;
            if ((outputs & bit) == 0 && (credits >> input.out_vc & 1U) != 0) {
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
    const u32 vcs_;
    const u32 ports_;
    Vector<u16> input_pointers_;    // by input VC: next output VC of its router
    Vector<u16> output_pointers_;   // by output VC: next input VC
    Vector<SwitchPointers> switch_;   // by port
    // Of the router being stepped:
    Vector<VcRequest> requests_;
    Vector<u32> best_;              // by output VC: the input VC that gets it
    Vector<u64> asks_;              // by output: the inputs that ask, as bits
    Vector<u16> asking_vc_;         // by input
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
