// RecoveryKind: how lost packets are found and sent again.
//
// `go_back_n`: the receiver takes packets in order alone, answers a gap with a NACK, and the sender goes back to it.
// `selective_repeat`: the receiver takes them in any order and says which it has, and only what is lost is sent again
// (network/packet/scoreboard.hpp). `duplicate_acks`: the receiver takes them in any order and says only up to where it has
// all; the congestion control counts ACKs that say nothing new, as TCP does (network/packet/tcp.hpp).
#pragma once

#include "base/types.hpp"

namespace yantra::packet {

enum class RecoveryKind : u8 { go_back_n, selective_repeat, duplicate_acks };

}  // namespace yantra::packet
