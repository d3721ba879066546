// The laws that every routing keeps, checked over small fabrics: a star, leaves and spines, a torus and random graphs.
#pragma once

#include <string>

#include "fabric/routing/routing.hpp"

namespace yantra {

// The first law that a routing breaks and what was seen, as `law: what`; empty where it keeps all. A fabric that lacks
// what the routing needs is passed over; that it runs on none is a broken law, too.
//   it_runs_on_a_fabric: one of them has what it needs.
//   a_path_joins_its_ends: link by link, from the source of a flow to its destination.
//   no_link_comes_twice: a path turns in no circle.
//   a_path_depends_on_its_flow_alone: it is the same whatever was asked before, and by a routing made anew.
//   packets_stay_together: those of a flow take one path, unless the routing goes by packets.
//   loads_do_not_matter: unless the routing goes by load.
//   a_divided_flow_arrives_whole: of a routing that divides flows, each link behind those that lead to it.
//   where_there_is_no_way_it_says_so: as Unsupported, or as an argument that it cannot take.
std::string broken_law(const RoutingKind& kind);

}  // namespace yantra
