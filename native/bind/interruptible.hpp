// Interruptible: a call of the core without Python's lock, which Ctrl-C and SIGTERM end between two of its steps.
//
// Python notes a signal and acts on it at the next line of Python, which a long call puts off. As long as such a call
// runs, a handler before Python's notes the signal for the core as well (base/interruption.hpp); the core then lets
// Python act, and ends if that raises. Handlers are as they were when the last of such calls is over; who has none
// but the system's keeps it. Trade-off: four system calls, so it is for calls that may take long.
//
// Python acts on signals in the main thread alone. What other threads do for it ends when it says so: by a Stop, which
// they have said that they hear.
#pragma once

#include <nanobind/nanobind.h>

#include <atomic>
#include <cstddef>
#include <memory>
#include <optional>
#include <stdexcept>

namespace yantra {

// To be called once, in the thread that imports: Python acts on signals in no other.
void hear_signals_in_this_thread();

class SignalsHeard {
public:
    SignalsHeard();
    SignalsHeard(const SignalsHeard&) = delete;
    SignalsHeard& operator=(const SignalsHeard&) = delete;
    ~SignalsHeard();
};

// What ends a call in a thread that was told to stop.
struct Stopped : std::runtime_error {
    Stopped() : std::runtime_error("told to stop") {}
};

class Stop {
public:
    Stop() = default;
    Stop(const Stop&) = delete;
    Stop& operator=(const Stop&) = delete;
    ~Stop();
    // Calls of this thread that are interruptible end from now on once it is said.
    void hear() const;
    void say();

private:
    const std::shared_ptr<std::atomic<bool>> is_said_ = std::make_shared<std::atomic<bool>>(false);
};

void register_stops(nanobind::module_& module);

struct InterruptibleCall {
    SignalsHeard heard;
    nanobind::gil_scoped_release released;
};

// The same for a call that takes as long as its bytes are many; of few, it is not worth the system calls.
struct InterruptibleWork {
    std::optional<SignalsHeard> heard;
    nanobind::gil_scoped_release released;

    explicit InterruptibleWork(std::size_t bytes) {
        if (bytes >= many_bytes) {
            heard.emplace();
        }
    }

private:
    static constexpr std::size_t many_bytes = std::size_t{1} << 20U;
};

using Interruptible = nanobind::call_guard<InterruptibleCall>;

}  // namespace yantra
