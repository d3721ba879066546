// Outputs: the VCs of each output port: which are free, who has the others, and their credits.
#pragma once

#include "base/ids.hpp"
#include "network/noc/layout.hpp"

namespace yantra::noc {

// As bits of VCs.
struct OutputPort {
    u64 free = 0;          // no packet has it
    u64 credits = 0;       // a slot is free behind it
    u64 to_drain = 0;      // its tail has left; free when the buffer behind is empty
};

class Outputs {
public:
    Outputs(const Layout& layout, u32 buffer_flits, bool takes_empty_vcs)
        : layout_(layout),
          buffer_flits_(buffer_flits),
          takes_empty_vcs_(takes_empty_vcs),
          ports_(layout.ports_with_sources(),
                 {all_bits(layout.vcs_of_port()), all_bits(layout.vcs_of_port()), 0}),
          used_(layout.ports()),
          owners_(layout.vcs()),
          slots_taken_(std::size_t{layout.ports_with_sources()} * layout.vcs_of_port()) {}

    const OutputPort& operator[](PortId port) const { return ports_[port]; }
    bool has_credit(PortId port, u32 vc) const { return (ports_[port].credits >> vc & 1U) != 0; }
    VcId owner(VcId vc) const { return owners_[vc]; }
    // By port: flits in the buffers behind it or on the way, of all VCs.
    const u32* used(RouterId router) const { return &used_[layout_.port(router, 0)]; }

    void take(PortId port, u32 vc) { ports_[port].free &= ~(u64{1} << vc); }
    void take(PortId port, u32 within, VcId vc, VcId owner) {
        take(port, within);
        owners_[vc] = owner;
    }
    // A tail has left.
    void release(PortId port, u32 vc) {
        (takes_empty_vcs_ ? ports_[port].to_drain : ports_[port].free) |= u64{1} << vc;
    }
    void use_credit(PortId port, VcId vc) {
        if (++slots_taken_[vc] == buffer_flits_) {
            ports_[port].credits &= ~(u64{1} << layout_.within_port(vc));
        }
    }
    // The same of a router.
    void use_slot(PortId port, VcId vc) {
        use_credit(port, vc);
        ++used_[port];
    }
    void return_credit(VcId vc) {
        const PortId port = layout_.port_of(vc);
        const u64 bit = u64{1} << layout_.within_port(vc);
        OutputPort& output = ports_[port];
        output.credits |= bit;
        --slots_taken_[vc];
        if (used_.has(port)) {
            --used_[port];
        }
        if ((output.to_drain & bit) != 0 && slots_taken_[vc] == 0) {
            output.to_drain &= ~bit;
            output.free |= bit;
        }
    }

private:
    const Layout layout_;
    const u32 buffer_flits_;
    const bool takes_empty_vcs_;
    IdVector<PortId, OutputPort> ports_;   // of sources, too
    IdVector<PortId, u32> used_;
    IdVector<VcId, VcId> owners_;
    IdVector<VcId, u32> slots_taken_;      // of sources, too
};

}  // namespace yantra::noc
