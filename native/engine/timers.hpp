// Timers: events that can be cancelled until they come.
//
// The queue itself forgets nothing, so a cancelled event stays in it and finds, when its time comes,
// that its slot has gone on. A slot's generation tells one use from the next. Trade-off: a cancelled
// timer costs its place in the queue until its time.
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

    // The queue is to hold an event with the handle's slot as its index; `payload` is what it is for.
    Handle set(u32 payload) {
        const u32 slot = slots_.take_as_left();
        Slot& s = slots_[slot];
        s.payload = payload;
        s.pending = true;
        return {slot, s.generation};
    }

    // False if it has come, or was cancelled before.
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

    // The event of a slot has come: what it is for, or none if it was cancelled.
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
