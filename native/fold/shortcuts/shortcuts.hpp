// Closed forms of phases, and fast-forward.
#pragma once

#include <memory>

#include "base/variant.hpp"
#include "fold/folding.hpp"
#include "model/model.hpp"

namespace yantra {

inline namespace YANTRA_RUN {
class Shortcuts;
}

// Model and classes must outlive the result.
std::unique_ptr<Shortcuts> make_shortcuts(const Model& model, const ActorClasses& classes);

}  // namespace yantra
