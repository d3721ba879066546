// RecoveryKind: `go_back_n`: packets in order; a gap is answered with a NACK. `selective_repeat`:
// in any order; only lost ones are sent again (network/packet/scoreboard.hpp). `duplicate_acks`:
// the congestion control counts ACKs that say nothing new, as TCP (network/packet/tcp.hpp).
#pragma once

#include "base/types.hpp"

namespace yantra::packet {

enum class RecoveryKind : u8 { go_back_n, selective_repeat, duplicate_acks };

}  // namespace yantra::packet
