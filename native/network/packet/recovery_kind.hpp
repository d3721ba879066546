// RecoveryKind: how lost packets are found and sent again.
//
// `go_back_n`: the receiver takes packets only in order and answers a gap with a NACK, to which the
// sender goes back. `selective_repeat`: the receiver takes them in any order and says which it has,
// and only lost ones are sent again (network/packet/scoreboard.hpp). `duplicate_acks`: the receiver
// takes them in any order and says up to where it has all; the congestion control counts ACKs that
// say nothing new, as TCP does (network/packet/tcp.hpp).
#pragma once

#include "base/types.hpp"

namespace yantra::packet {

enum class RecoveryKind : u8 { go_back_n, selective_repeat, duplicate_acks };

}  // namespace yantra::packet
