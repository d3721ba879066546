// Interruption: how a long loop of the core notices a signal. The embedder's `answer` returns to go
// on and throws to stop.
#pragma once

#include <atomic>

namespace yantra {

struct Interruption {
    static inline std::atomic<bool> has_come{false};
    static inline void (*answer)() = nullptr;   // none: nobody to ask
};

// Call where the work may be abandoned, or resumed later.
inline void look_up() {
    if (Interruption::has_come.load(std::memory_order_relaxed)) [[unlikely]] {
        if (Interruption::answer != nullptr) {
            Interruption::answer();
        }
    }
}

}  // namespace yantra
