// FoldingCapabilities: what folding may rely on: it is sound only if every component is known to
// treat equal ranks equally (network/level.hpp, capabilities.cpp). Trade-off: models with unknown
// components are run whole, for the reason given here.
#pragma once

#include <string>
#include <vector>

#include "model/model.hpp"

namespace yantra {

struct FoldingCapabilities {
    struct Network {
        bool messages_never_wait = false;
        // One link can represent a class.
        bool links_by_class = false;
        // In an order independent of rank numbers.
        bool ports_by_class = false;
        // Only the counts over each link matter.
        bool shares_by_class = false;
        bool lowest_dimension_only = false;
    };
    // Each is empty if foldable.
    struct WhyNot {
        std::string network;
        std::string dimension_order;     // the scheduler that orders a collective's dimensions
        std::string chunk_order;         // the schedulers that order chunks and collectives
        std::string slow_ranks;
        std::string bus;
        std::string local_bandwidth;
        std::string protocol;            // of point-to-point messages
        std::string tags;                // how messages are matched
        std::string memory;              // only if a job accesses remote memory
        std::string custom_collectives;  // only if there are any
    };

    Network network;
    std::vector<bool> uniform_dimension;   // whether it looks the same from each member
    WhyNot why_not;

    // Empty if some job can be folded.
    const std::string& refusal() const;
};

FoldingCapabilities capabilities_of(const Model& model);

}  // namespace yantra
