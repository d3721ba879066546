// ThreadBarrier: threads that wait for each other, in turns of a loop. One that waits spins for some 20 us
// (unless they are more than processors), then sleeps.
#pragma once

#include <atomic>
#include <thread>

#include "base/types.hpp"

namespace yantra {

class ThreadBarrier {
public:
    explicit ThreadBarrier(u32 threads)
        : threads_(threads), spins_(threads <= std::thread::hardware_concurrency() ? 4000 : 0) {}

    void wait() {
        const u32 turn = turn_.load(std::memory_order_acquire);
        if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == threads_) {
            arrived_.store(0, std::memory_order_relaxed);
            turn_.store(turn + 1, std::memory_order_release);
            turn_.notify_all();
            return;
        }
        for (u32 spin = 0; spin < spins_; ++spin) {
            if (turn_.load(std::memory_order_acquire) != turn) {
                return;
            }
            pause();
        }
        while (turn_.load(std::memory_order_acquire) == turn) {
            turn_.wait(turn, std::memory_order_acquire);
        }
    }

    // For one that is not there; never the last.
    void arrive() { arrived_.fetch_add(1, std::memory_order_acq_rel); }
    // By one: until all others wait.
    void await_others() const {
        for (u32 spin = 0; arrived_.load(std::memory_order_acquire) + 1 != threads_; ++spin) {
            if (spin < spins_) {
                pause();
            } else {
                std::this_thread::yield();
            }
        }
    }

private:
    static void pause() {
#if defined(__x86_64__) || defined(__i386__)
        __builtin_ia32_pause();
#endif
    }

    const u32 threads_;
    const u32 spins_;
    alignas(64) std::atomic<u32> arrived_{0};
    alignas(64) std::atomic<u32> turn_{0};
};

}  // namespace yantra
