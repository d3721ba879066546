// The laws that every queue discipline keeps.
#pragma once

#include <string>

#include "network/packet/queue_discipline.hpp"

namespace yantra::packet {

// The first law that a discipline breaks and what was seen, as `law: what`; or empty.
//   every_packet_leaves_once: what is pushed is popped once, and nothing else.
//   none_only_where_none_waits: pop() gives none if and only if nothing waits.
//   list_has_what_waits: list() gives what waits, each once.
//   messages_keep_their_order: packets of one message leave in order of arrival, where it says so.
std::string broken_law(const Discipline& discipline);

}  // namespace yantra::packet
