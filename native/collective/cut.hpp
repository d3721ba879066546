// How a collective is cut into chunks (astra-sim-semantics 4.2).
#pragma once

#include <algorithm>

#include "base/types.hpp"
#include "collective/kind.hpp"

namespace yantra {

struct Cut {
    u64 left = 0;     // bytes, which upstream rounds up to whole chunks
    u64 chunk = 0;    // bytes of each but the last
    u64 pieces = 0;
};

// `padded`: as upstream, at least `ranks` bytes a chunk.
inline Cut cut_of(CollectiveKind kind, u64 bytes, u64 splits, bool padded, u64 ranks) {
    Cut cut;
    cut.left = bytes;
    if (!padded) {
        cut.chunk = (cut.left + splits - 1) / splits;
        const bool whole = kind == CollectiveKind::barrier;   // a signal is not cut
        cut.pieces = whole ? 1 : std::max<u64>(1, std::min(splits, cut.left));
        return cut;
    }
    cut.chunk = cut.left / splits;
    if (kind != CollectiveKind::all_gather && ranks > cut.chunk) {
        cut.chunk = ranks;
        cut.left = splits * cut.chunk;
    }
    cut.chunk = std::max<u64>(cut.chunk, 1);   // an all-gather of fewer bytes than chunks: endless upstream
    cut.pieces = (cut.left + cut.chunk - 1) / cut.chunk;
    return cut;
}

}  // namespace yantra
