// Wires: the clock, and flits and credits on their way over channels.
#pragma once

#include "base/ids.hpp"
#include "network/noc/layout.hpp"
#include "network/noc/packet.hpp"
#include "network/noc/router.hpp"

namespace yantra::noc {

class Wires {
public:
    struct Arrival {
        VcId vc;
        Flit flit;
    };
    // What comes in one cycle.
    struct Slot {
        std::vector<Arrival> flits;
        std::vector<Arrival> ejected;     // by output VC
        std::vector<VcId> credits;        // output VCs
    };

    Wires(const Layout& layout, const Shape& shape, const RouterTimes& times);

    u64 now() const { return now_; }
    void end_cycle() { ++now_; }
    void skip_to(u64 cycle) { now_ = cycle; }
    bool are_empty() const { return moving_ == 0; }
    u64 patience() const { return slots_.size() + 2; }
    // None at a node.
    PortId far_end(PortId port) const { return far_ends_[port]; }

    void send(PortId out, u32 vc, Flit flit) {
        const PortId far = far_ends_[out];
        Slot& slot = in(out_cycles_[out]);
        if (far.is_none()) {
            slot.ejected.push_back({layout_.vc(out, vc), flit});
        } else {
            slot.flits.push_back({layout_.vc(far, vc), flit});
        }
        ++moving_;
    }
    // From its node.
    void inject(PortId in_port, u32 vc, Flit flit) {
        in(inject_cycles_).flits.push_back({layout_.vc(in_port, vc), flit});
        ++moving_;
    }
    void return_credit(PortId in_port, u32 vc) {
        in(credit_cycles_[in_port]).credits.push_back(layout_.vc(upstream_[in_port], vc));
        ++moving_;
    }
    void return_credit_of_node(VcId vc) {
        in(2).credits.push_back(vc);   // the channel back, and the cycle to send it
        ++moving_;
    }
    // To be emptied.
    Slot& arriving() {
        Slot& slot = in(0);
        moving_ -= slot.flits.size() + slot.ejected.size() + slot.credits.size();
        return slot;
    }

private:
    Slot& in(u32 cycles) { return slots_[(now_ + cycles) & (slots_.size() - 1)]; }

    const Layout layout_;
    const u32 inject_cycles_;
    IdVector<PortId, PortId> far_ends_;
    IdVector<PortId, PortId> upstream_;    // whose credits it returns
    IdVector<PortId, u32> out_cycles_;     // from the switch to the channel's end
    IdVector<PortId, u32> credit_cycles_;  // until an input port's credit is back
    std::vector<Slot> slots_;
    u64 moving_ = 0;                       // entries of the slots
    u64 now_ = 0;
};

}  // namespace yantra::noc
