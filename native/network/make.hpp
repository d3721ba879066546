// The network that a model names.
#pragma once

#include <memory>

#include "engine/engine.hpp"
#include "network/network.hpp"
#include "model/model.hpp"

namespace yantra::inline YANTRA_RUN {

std::unique_ptr<NetworkModel> make_network(const Model& model, const Grid& grid, Engine& engine);

}  // namespace yantra
