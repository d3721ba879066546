// The shared buffer of a switch: each port has its own reserve and head room, and may hold alpha
// times what is left of the rest (Choudhury and Hahne, IEEE/ACM ToN 1998), alpha = 1 / 2^shift.
// Above that its neighbour pauses, until it holds `resume_bytes` less. Rules: the ns-3 fork's.
#pragma once

#include <algorithm>

#include "base/types.hpp"
#include "network/packet/port.hpp"

namespace yantra::packet {

inline constexpr u64 reserve_bytes = 4096;   // of each port
inline constexpr u64 resume_bytes = 3072;

struct SharedBuffer {
    u64 sharable = 0;       // the buffer without reserves and head rooms
    u64 used = 0;           // of it
    bool wraps = false;     // the quirk: in 32 bits, unsigned
    u32 ports = 0;

    static u64 shared_of(const Port& in) {
        return in.ingress_bytes > reserve_bytes ? in.ingress_bytes - reserve_bytes : 0;
    }
    u64 threshold(const Port& in) const {
        if (wraps) {
            return static_cast<u32>(sharable - used) >> in.threshold_shift;
        }
        return used < sharable ? (sharable - used) >> in.threshold_shift : 0;
    }

    // False if the packet is dropped.
    bool admit(Port& in, u64 bytes) {
        const u64 limit = threshold(in);
        if (bytes + in.headroom_used > in.headroom && bytes + shared_of(in) > limit) {
            return false;
        }
        const u64 held = in.ingress_bytes + bytes;
        if (held > reserve_bytes && held - reserve_bytes > limit) {
            in.headroom_used += bytes;
            return true;
        }
        in.ingress_bytes = held;
        if (held > reserve_bytes) {
            used += std::min(bytes, held - reserve_bytes);
        }
        return true;
    }

    void leave(Port& in, u64 bytes) {
        const u64 from_headroom = std::min(in.headroom_used, bytes);
        const u64 rest = bytes - from_headroom;
        used -= std::min(rest, shared_of(in));
        in.headroom_used -= from_headroom;
        in.ingress_bytes -= rest;
    }

    bool should_pause(const Port& in) const {
        return !in.has_paused && (in.headroom_used > 0 || shared_of(in) >= threshold(in));
    }
    bool should_resume(const Port& in) const {
        if (!in.has_paused || in.headroom_used > 0) {
            return false;
        }
        const u64 shared = shared_of(in);
        return shared == 0 || shared + resume_bytes <= threshold(in);
    }
};

}  // namespace yantra::packet
