// Traffic: which node sends to which, by the literature's patterns (Dally and Towles 2004, section
// 3.2).
//
// Permutations or draws. Patterns of coordinates move whole routers and keep a node's place. Nodes
// may send to themselves over their router, as in BookSim.
#pragma once

#include <string>

#include "base/types.hpp"
#include "base/vector.hpp"
#include "engine/rng.hpp"
#include "network/noc/shape.hpp"

namespace yantra::noc {

class Traffic {
public:
    // `hotspot`: the node of that pattern. Throws std::invalid_argument if the shape does not fit
    // the pattern.
    Traffic(const std::string& name, const Shape& shape, u32 hotspot, u64 seed);

    u32 destination(u32 source, Rng& random) const {
        return destinations_.empty() ? static_cast<u32>(random.below(nodes_)) : destinations_[source];
    }
    // By source; empty where all are equally likely.
    const Vector<u32>& destinations() const { return destinations_; }

private:
    u32 nodes_;
    Vector<u32> destinations_;
};

struct TrafficKind {
    std::string name;
    std::string help;   // one line
};

const Vector<TrafficKind>& traffics();

}  // namespace yantra::noc
