// How the fabric of a job is parted over threads (network/packet/followers.hpp): the first part has all
// ranks, as the engine that they share reacts at once; work is predicted from what ranks will send.
#pragma once

#include <string>

#include "base/variant.hpp"
#include "network/formula_tiers.hpp"
#include "network/packet/partition.hpp"
#include "network/parameters.hpp"
#include "network/ways.hpp"

namespace yantra::inline YANTRA_RUN {

// One part, with the reason, where more cannot be exact or gain nothing.
packet::Partition packet_parts(const NetworkSetup& setup, const packet::Settings& settings,
                               const packet::FabricSpec& fabric, Ways& ways, const FormulaTiers& tiers);

}  // namespace yantra
