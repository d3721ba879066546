// FoldingCapabilities: what folding may rely on in the components of one model.
//
// Folding is sound only if every component treats ranks that do the same alike, so each must be known
// to do so. This record is asked in place of the components. Networks say of themselves what holds
// (network/level.hpp); all other kinds of components are known by name in capabilities.cpp and nowhere
// else in folding. Whatever is not known is refused: every rank is run, and the sentence here says why.
// Trade-off: a new component is run whole until it says so, or gets a line there.
#pragma once

#include <string>
#include <vector>

#include "model/model.hpp"

namespace yantra {

struct FoldingCapabilities {
    struct Network {
        // The time of a message follows from its ends and its size alone.
        bool messages_never_wait = false;
        // Messages wait for nothing but links, and one link can stand for a class of links.
        bool links_by_class = false;
        // Messages wait for nothing but the links of ranks, in an order that no number of a rank decides.
        bool ports_by_class = false;
        // Messages share links fairly, so how they fare follows from how many of which cross each.
        bool shares_by_class = false;
        // Of the dimensions in which the ends of a message differ, only the lowest counts.
        bool lowest_dimension_only = false;
    };
    // Why a component cannot be folded; empty if it can.
    struct WhyNot {
        std::string network;
        std::string dimension_order;     // the scheduler that orders the dimensions of a collective
        std::string chunk_order;         // the schedulers that order chunks and collectives
        std::string slow_ranks;
        std::string bus;
        std::string local_bandwidth;
        std::string protocol;            // of point-to-point messages
        std::string tags;                // how messages are matched
        std::string memory;              // counts only if a job accesses remote memory
        std::string custom_collectives;  // counts only if there are any
    };

    Network network;
    std::vector<bool> uniform_dimension;   // whether it looks the same from each of its members
    WhyNot why_not;

    // Why no run of this model can be folded, whatever its jobs do; empty if some can.
    const std::string& refusal() const;
};

FoldingCapabilities capabilities_of(const Model& model);

}  // namespace yantra
