// Windows: simulators of parts of one fabric, each in a thread, in conservative windows: what
// leaves a part takes at least a window's length to arrive, so each may handle all that is before
// the earliest event of all and a window more (Chandy and Misra, CACM 1981; Nicol, JACM 1993). At the
// end exactly something may arrive, so the end is left out. Order within a tick does not depend on
// parts (network/packet/tick_order.hpp), so nor does a result. Trade-off: a barrier each window.
#pragma once

#include <array>
#include <atomic>
#include <exception>
#include <string>
#include <thread>
#include <vector>

#include "base/barrier.hpp"
#include "network/packet/simulator.hpp"

namespace yantra::packet {

class Windows {
public:
    // Precondition: routes and links are known. `window`: ticks.
    Windows(std::vector<Simulator*> parts, u64 window);

    // Handles about so many events; the caller's thread has the first part. Returns whether all are
    // handled. Throws what look_up() throws, and can go on then.
    bool run_for(u64 events);
    // Why all has to be done again by one simulator; empty: it need not.
    const std::string& refused() const { return refused_; }
    u64 events() const;
    u64 now() const;   // the latest

private:
    struct alignas(64) Said {
        u64 next = ~u64{0};     // event, or arrival that it sent
        u64 events = 0;         // so far
        u64 heard = 0;          // tick of the last byte acknowledged
        u64 under_way = 0;      // flows
        bool stops = false;
        bool refuses = false;
    };

    void work(u32 part, u64 until);
    template <class Work>
    void try_to(u32 part, Work&& work);
    static bool is_long(const Simulator& any, u64 heard, u64 next);
    Said say(u32 part);
    Said all_say(u32 set) const;
    void note_refusal(const Said& last);
    bool begin(std::vector<std::thread>& threads, u64 until);

    std::vector<Simulator*> parts_;
    const u64 window_;
    ThreadBarrier barrier_;
    std::array<std::vector<Said>, 2> said_;
    std::exception_ptr stopped_;   // by a signal
    std::atomic<u32> gate_{0};   // of threads: 0 wait, 1 go, 2 leave
    u32 set_ = 0;                // that was written
    u64 heard_ = 0;
    Said last_;
    std::string refused_;
};

}  // namespace yantra::packet
