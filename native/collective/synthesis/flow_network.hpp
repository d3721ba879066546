// Maximum flows between devices, exact (Dinic, "Algorithm for solution of a problem of maximum flow
// in networks with power estimation", Soviet Mathematics Doklady 11, 1970). Every question starts
// from zero flow.
#pragma once

#include <vector>

#include "base/types.hpp"
#include "collective/synthesis/amount.hpp"

namespace yantra::synthesis {

class FlowNetwork {
public:
    explicit FlowNetwork(u32 devices) : leaving_(devices), level_(devices), begun_(devices) {}

    u32 add(u32 start, u32 end, Amount capacity);
    void set(u32 arc, Amount capacity) { capacity_[arc] = capacity; }
    [[nodiscard]] Amount capacity(u32 arc) const { return capacity_[arc]; }

    Amount flow(u32 source, u32 sink, Amount enough = unlimited);

    // The source's side of a minimum cut, after a flow below `enough`.
    [[nodiscard]] std::vector<u8> side() const;

private:
    bool climb(u32 source, u32 sink);
    Amount push(u32 source, u32 sink, Amount most);

    // Arcs a and a ^ 1 are each other's reverse.
    std::vector<u32> end_;
    std::vector<Amount> capacity_;
    std::vector<Amount> free_;
    std::vector<std::vector<u32>> leaving_;
    std::vector<u32> level_;
    std::vector<u32> begun_;
    std::vector<u32> waiting_;
    std::vector<u32> way_;
};

}  // namespace yantra::synthesis
