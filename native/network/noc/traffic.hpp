// Traffic: which node sends to which, by the patterns of the literature (Dally and Towles 2004, section 3.2).
//
// A pattern is a permutation of the nodes, or a draw. Those of coordinates move whole routers: a node sends to the one
// with its own place at the other router. Nodes may send to themselves, as with BookSim: over their router alone.
#pragma once

#include <string>

#include "base/types.hpp"
#include "base/vector.hpp"
#include "engine/rng.hpp"
#include "network/noc/shape.hpp"

namespace yantra::noc {

class Traffic {
public:
    // `hotspot` is the node of the pattern of that name. Throws std::invalid_argument if the shape has no such pattern.
    Traffic(const std::string& name, const Shape& shape, u32 hotspot, u64 seed);

    u32 destination(u32 source, Rng& random) const {
        return destinations_.empty() ? static_cast<u32>(random.below(nodes_)) : destinations_[source];
    }
    // By source; empty where every node is as likely.
    const Vector<u32>& destinations() const { return destinations_; }

private:
    u32 nodes_;
    Vector<u32> destinations_;
};

struct TrafficKind {
    std::string name;
    std::string help;   // one line
};

// By name.
const Vector<TrafficKind>& traffics();

}  // namespace yantra::noc
