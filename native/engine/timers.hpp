// Timers: events that can be cancelled until they come.
//
// The queue forgets nothing: a cancelled event stays in it and finds, at its time, that its slot's
// generation has moved on. Trade-off: it occupies the queue until then.
#pragma once

#include "base/ensure.hpp"
#include "base/pool.hpp"
#include "base/types.hpp"

namespace yantra {

class Timers {
public:
    struct Handle {
        u32 slot = none;
        u32 generation = 0;
    };

    // Queue an event with the handle's slot as index; `payload` is what it is for.
    Handle set(u32 payload) {
        const u32 slot = slots_.take_as_left();
        Slot& s = slots_[slot];
        s.payload = payload;
        s.pending = true;
        return {slot, s.generation};
    }

    // False if it came or was cancelled before.
    bool cancel(Handle handle) {
        if (handle.slot == none) {
            return false;
        }
        Slot& s = slots_[handle.slot];
        if (!s.pending || s.generation != handle.generation) {
            return false;
        }
        s.pending = false;
        return true;
    }

    // What the slot's event is for, or none if cancelled.
    u32 expire(u32 slot) {
        Slot& s = slots_[slot];
        const u32 payload = s.pending ? s.payload : none;
        s.pending = false;
        ++s.generation;
        slots_.give_back(slot);
        return payload;
    }

private:
    struct Slot {
        u32 payload = none;
        u32 generation = 0;
        bool pending = false;
    };
    Pool<Slot, Freed::readable> slots_;   // generations
};

}  // namespace yantra
