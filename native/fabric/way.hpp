// Way: what a flow holds at once: a path whose links carry all of it, or parts.
#pragma once

#include <vector>

#include "base/types.hpp"

namespace yantra {

struct Way {
    struct Part {
        double carried = 1.0;      // share of one flow's bytes over the link
        double shared = 1.0;       // of the flow's rate, summed over these flows
        u32 flows = 1;             // how many such flows cross the link
        bool operator==(const Part&) const = default;
    };
    std::vector<u32> links;
    std::vector<Part> parts;       // by link; or none, where each carries one whole flow
    double latency_ns = 0.0;       // of the longest path

    Part part(std::size_t at) const { return parts.empty() ? Part{} : parts[at]; }
    bool operator==(const Way&) const = default;
};

}  // namespace yantra
