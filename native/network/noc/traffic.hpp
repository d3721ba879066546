// Traffic: which node sends to which, by the literature's patterns (Dally and Towles 2004, section
// 3.2). Nodes may send to themselves, as in BookSim.
#pragma once

#include <string>
#include <vector>

#include "base/types.hpp"
#include "engine/rng.hpp"
#include "network/noc/shape.hpp"

namespace yantra::noc {

class Traffic {
public:
    // Throws std::invalid_argument if the shape does not fit the pattern.
    Traffic(const std::string& name, const Shape& shape, u32 hotspot, u64 seed);

    u32 destination(u32 source, Rng& random) const {
        return destinations_.empty() ? static_cast<u32>(random.below(nodes_)) : destinations_[source];
    }
    const std::vector<u32>& destinations() const { return destinations_; }

private:
    u32 nodes_;
    std::vector<u32> destinations_;
};

struct TrafficKind {
    std::string name;
    std::string help;   // one line
};

const std::vector<TrafficKind>& traffics();

}  // namespace yantra::noc
