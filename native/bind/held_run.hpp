// A run and the model that it reads, as Python holds them.
#pragma once

#include <memory>

#include "fold/runtime/any_run.hpp"

namespace yantra {

struct HeldRun {
    const Model& model;
    std::unique_ptr<AnyRun> run;
};

struct HeldRecordedRun : HeldRun {
    AnyRecordedRun& recorded() { return static_cast<AnyRecordedRun&>(*run); }
};

inline std::shared_ptr<const Folding> copy_of(const Folding* folding) {
    return folding == nullptr ? nullptr : std::make_shared<const Folding>(*folding);
}

}  // namespace yantra
