// Way: what a flow holds at once, by who shares links among flows.
//
// A path is a way whose links each carry the flow, whole. A flow that is divided among paths has parts, and so does
// one over links that each stand for several.
#pragma once

#include "base/types.hpp"
#include "base/vector.hpp"

namespace yantra {

// What bytes under way hold at once: links, and how much of each.
struct Way {
    // A link of a flow that is divided, or one that stands for several.
    struct Part {
        double carried = 1.0;      // of the bytes of one flow, over the link
        double shared = 1.0;       // by the flows that are under way alike: so much of its rate
        u32 flows = 1;             // that are, over the link
        bool operator==(const Part&) const = default;
    };
    Vector<u32> links;
    Vector<Part> parts;       // by link; or none, where each carries one flow, whole
    double latency_ns = 0.0;       // of the longest, where there are several

    Part part(std::size_t at) const { return parts.empty() ? Part{} : parts[at]; }
    bool operator==(const Way&) const = default;
};

}  // namespace yantra
