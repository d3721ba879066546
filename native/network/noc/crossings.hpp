// Crossings: what went through the switches.
#pragma once

#include "base/ids.hpp"
#include "network/noc/layout.hpp"
#include "network/noc/packet.hpp"

namespace yantra::noc {

struct Crossing {
    PortId port;
    u32 tag = 0;       // the packet's
    u32 flits = 0;
    u64 first = 0;     // cycles
    u64 last = 0;
};

class Crossings {
public:
    explicit Crossings(const Layout& layout) : layout_(layout), flits_(layout.ports()), packets_(layout.ports()) {}

    u64 flit_hops() const { return flit_hops_; }   // flits through routers
    u64 flits(PortId port) const { return flits_[port]; }
    u64 packets(PortId port) const { return packets_[port]; }

    // Until they are taken, those to other routers.
    void keep() { heads_.resize(layout_.vcs()); }
    std::vector<Crossing>& kept() { return kept_; }
    bool are_kept() const { return !heads_.empty(); }

    void count(PortId out, Flit flit) {
        ++flit_hops_;
        ++flits_[out];
        packets_[out] += flit.is_head() ? 1 : 0;
    }
    [[gnu::noinline, gnu::cold]] void note(PortId out, u32 vc, Flit flit, const Packet& packet, u64 now) {
        u64& head = heads_[layout_.vc(out, vc)];
        if (flit.is_head()) {
            head = now;
        }
        if (flit.is_tail()) {
            kept_.push_back({out, packet.tag, packet.flits, head, now});
        }
    }

private:
    const Layout layout_;
    u64 flit_hops_ = 0;
    IdVector<PortId, u64> flits_;
    IdVector<PortId, u64> packets_;
    IdVector<VcId, u64> heads_;   // by output VC, if crossings are kept: when the head crossed
    std::vector<Crossing> kept_;
};

}  // namespace yantra::noc
