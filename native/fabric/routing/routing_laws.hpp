// The laws of every routing.
#pragma once

#include <string>

#include "fabric/routing/routing.hpp"

namespace yantra {

// The first broken law and what was seen, as `law: what`; or empty. Fabrics that lack what the
// routing needs are skipped.
//   it_runs_on_a_fabric: at least one has what it needs.
//   a_path_joins_its_ends: link by link, from source to destination.
//   no_link_comes_twice: a path has no circle.
//   a_path_depends_on_its_flow_alone: not on earlier queries or the instance.
//   packets_stay_together: on one path, unless it goes by packet or by load.
//   loads_do_not_matter: unless it goes by load.
//   a_divided_flow_arrives_whole: each link behind those that lead to it.
//   where_there_is_no_way_it_says_so: by Unsupported, or as an invalid argument.
std::string broken_law(const RoutingKind& kind);

}  // namespace yantra
