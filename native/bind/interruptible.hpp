// Interruptible: a call without Python's lock that Ctrl-C and SIGTERM can end between two steps: a
// handler in front of Python's notes the signal (base/interruption.hpp). Trade-off: four system
// calls. Threads other than the main one end by a Stop.
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
