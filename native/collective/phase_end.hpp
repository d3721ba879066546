// PhaseEnd: a phase is over.
#pragma once

#include "base/ids.hpp"

namespace yantra {

class PhaseEnd {
public:
    virtual void phase_ends(ChunkId chunk) = 0;

protected:
    ~PhaseEnd() = default;
};

}  // namespace yantra
