// Ids of the flow network.
#pragma once

#include "base/id_pool.hpp"
#include "base/variant.hpp"

namespace yantra::inline YANTRA_RUN::flow {

using RouteId = Id<struct RouteTag>;
using TransitId = Id<struct TransitTag>;
using PartId = Id<struct PartTag>;

}  // namespace yantra::inline YANTRA_RUN::flow
