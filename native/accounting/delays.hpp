// Delays: splits the time of a message or hop into latency and bytes. Latency is an empty message's
// time by the run's clock; the bytes take the rest, including rounding.
#pragma once

#include "record/recording.hpp"
#include "model/model.hpp"
#include "fabric/grid.hpp"

namespace yantra {

class Delays {
public:
    Delays(const Model& model, const Recording& recording);

    // `ticks`: between a moment with Why::carried and its cause.
    u64 latency(u32 subject, u64 ticks) const;
    // Of a hop, or the lowest that a message crosses.
    u32 dimension(u32 subject) const;
    u32 lowest_dimension(const MessageLog& message) const;
    u32 dimension_of_link(u32 link) const;
    u64 latency_of(const MessageLog& message) const;
    // Without waiting.
    u64 transfer_of(const MessageLog& message) const;
    const Grid& grid() const { return grid_; }

private:
    const Model& model_;
    const Recording& recording_;
    Grid grid_;
};

}  // namespace yantra
