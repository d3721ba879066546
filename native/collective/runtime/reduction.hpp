// What a local reduction takes.
#pragma once

#include "model/model.hpp"

namespace yantra {

// One write and two reads of the reduced bytes (astra-sim-semantics 5.2). The order of the
// operations decides the truncated value.
inline u64 reduction_ticks(const Model& model, u64 bytes) {
    const double bandwidth = model.system.memory_bytes_per_s;
    if (bandwidth <= 0.0) {
        return 0;
    }
    return model.scale.ticks(static_cast<double>(bytes) / bandwidth * 1e9, 3);
}

// What of the memory's traffic that is.
inline u64 reduction_traffic(u64 bytes) { return 3 * bytes; }

}  // namespace yantra
