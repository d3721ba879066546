// Maximum flows between devices, exact: the maximum flow equals the minimum cut.
//
// Every question starts from zero flow: capacities change in between, and repairing the last flow
// is slower.
//
// Source: Dinic, "Algorithm for solution of a problem of maximum flow in networks with power
// estimation", Soviet Mathematics Doklady 11 (1970).
#pragma once

#include "base/types.hpp"
#include "base/vector.hpp"
#include "collective/synthesis/amount.hpp"

namespace yantra::synthesis {

class FlowNetwork {
public:
    explicit FlowNetwork(u32 devices) : leaving_(devices), level_(devices), begun_(devices) {}

    u32 add(u32 start, u32 end, Amount capacity);
    void set(u32 arc, Amount capacity) { capacity_[arc] = capacity; }
    [[nodiscard]] Amount capacity(u32 arc) const { return capacity_[arc]; }

    // Returns `enough` if the flow is at least that.
    Amount flow(u32 source, u32 sink, Amount enough = unlimited);

    // After a flow that reached no `enough`: the source's side of a minimum cut.
    [[nodiscard]] Vector<u8> side() const;

private:
    bool climb(u32 source, u32 sink);
    Amount push(u32 source, u32 sink, Amount most);

    // Arcs a and a ^ 1 are each other's reverse.
    Vector<u32> end_;
    Vector<Amount> capacity_;
    Vector<Amount> free_;
    Vector<Vector<u32>> leaving_;
    Vector<u32> level_;
    Vector<u32> begun_;
    Vector<u32> waiting_;
    Vector<u32> way_;
};

}  // namespace yantra::synthesis
