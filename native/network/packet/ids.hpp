// Ids of a packet simulation.
#pragma once

#include "base/id_pool.hpp"

namespace yantra::packet {

using PortId = LinkId;   // a port is known by the link that it feeds
using PacketId = Id<struct PacketTag>;
using SenderId = Id<struct SenderTag>;

}  // namespace yantra::packet
