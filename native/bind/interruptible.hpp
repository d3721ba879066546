// Interruptible: a call without Python's lock that Ctrl-C and SIGTERM can end between two steps.
//
// Python acts on a signal only at its next line. During such a call a handler in front of Python's
// also notes the signal for the core (base/interruption.hpp), which lets Python act, and ends if
// that raises. Handlers are restored after the last such call; the system's default is left alone.
// Trade-off: it takes four system calls, so it is for long calls. As Python acts only in the main
// thread, others end by a Stop that they hear.
#pragma once

#include <nanobind/nanobind.h>

#include <atomic>
#include <cstddef>
#include <memory>
#include <optional>
#include <stdexcept>

namespace yantra {

// Call once, in the importing thread.
void hear_signals_in_this_thread();

class SignalsHeard {
public:
    SignalsHeard();
    SignalsHeard(const SignalsHeard&) = delete;
    SignalsHeard& operator=(const SignalsHeard&) = delete;
    ~SignalsHeard();
};

// Ends a call in a stopped thread.
struct Stopped : std::runtime_error {
    Stopped() : std::runtime_error("told to stop") {}
};

class Stop {
public:
    Stop() = default;
    Stop(const Stop&) = delete;
    Stop& operator=(const Stop&) = delete;
    ~Stop();
    // From now on, interruptible calls of this thread end when it is said.
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

// For work proportional to bytes: short work is not worth the system calls.
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
