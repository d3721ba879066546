// Interruption: how a long loop of the core hears that a signal has come.
//
// A handler notes the signal in `has_come`; loops look up at it between two steps, at the price of one load. What is
// to become of it is for whoever embeds the core to say: `answer` returns where the work is to go on, and throws
// where it is to end. So no loop has to guess how long its steps take.
#pragma once

#include <atomic>

namespace yantra {

struct Interruption {
    static inline std::atomic<bool> has_come{false};
    static inline void (*answer)() = nullptr;   // none: nobody is to be asked
};

// To be called where what is under way may be left, or taken up again later.
inline void look_up() {
    if (Interruption::has_come.load(std::memory_order_relaxed)) [[unlikely]] {
        if (Interruption::answer != nullptr) {
            Interruption::answer();
        }
    }
}

}  // namespace yantra
