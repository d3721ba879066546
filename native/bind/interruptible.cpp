#include "bind/interruptible.hpp"

#include <array>
#include <csignal>
#include <mutex>
#include <thread>

#include "base/interruption.hpp"
#include "base/types.hpp"

namespace nb = nanobind;

namespace yantra {

namespace {

constexpr std::array<int, 2> heard_signals{SIGINT, SIGTERM};

struct Calls {
    std::mutex one_at_a_time;
    u32 under_way = 0;
    std::array<struct sigaction, heard_signals.size()> handlers_before{};
    std::array<bool, heard_signals.size()> is_heard{};
    std::thread::id main_thread;   // the only one in which Python acts on signals
    std::atomic<u32> stops_said{0};   // Stops that still exist
};

// Per process, as handlers are.
Calls& calls() {
    static Calls of_process{};
    return of_process;
}

// Per thread; null if it hears none.
std::shared_ptr<std::atomic<bool>>& stop_heard() {
    thread_local std::shared_ptr<std::atomic<bool>> of_thread;
    return of_thread;
}

void nothing_has_come() {
    Interruption::has_come.store(calls().stops_said.load() > 0, std::memory_order_relaxed);
}

extern "C" void note_signal(int number) {
    Interruption::has_come.store(true, std::memory_order_relaxed);
    for (std::size_t at = 0; at < heard_signals.size(); ++at) {
        if (heard_signals[at] == number) {
            calls().handlers_before[at].sa_handler(number);
        }
    }
}

void let_python_act() {
    if (std::this_thread::get_id() != calls().main_thread) {
        if (stop_heard() != nullptr && stop_heard()->load(std::memory_order_relaxed)) {
            throw Stopped();
        }
        return;
    }
    nothing_has_come();
    const nb::gil_scoped_acquire locked;
    if (PyErr_CheckSignals() != 0) {
        throw nb::python_error();
    }
}

void hear(std::size_t at) {
    struct sigaction& before = calls().handlers_before[at];
    sigaction(heard_signals[at], nullptr, &before);
    calls().is_heard[at] = (before.sa_flags & SA_SIGINFO) == 0 && before.sa_handler != SIG_DFL &&
                           before.sa_handler != SIG_IGN;
    if (calls().is_heard[at]) {
        struct sigaction noting = before;
        noting.sa_handler = note_signal;
        sigaction(heard_signals[at], &noting, nullptr);
    }
}

}  // namespace

Stop::~Stop() {
    if (is_said_->load()) {
        --calls().stops_said;
    }
}

void Stop::hear() const { stop_heard() = is_said_; }

void Stop::say() {
    if (!is_said_->exchange(true)) {
        ++calls().stops_said;
        Interruption::has_come.store(true, std::memory_order_relaxed);
    }
}

void register_stops(nb::module_& module) {
    nb::exception<Stopped>(module, "Stopped");
    nb::class_<Stop>(module, "Stop", "Ends the long calls of the threads that hear it, once it is said.")
        .def(nb::init<>())
        .def("hear", &Stop::hear)
        .def("say", &Stop::say);
}

void hear_signals_in_this_thread() { calls().main_thread = std::this_thread::get_id(); }

SignalsHeard::SignalsHeard() {
    const std::lock_guard<std::mutex> alone(calls().one_at_a_time);
    if (calls().under_way++ > 0) {
        return;
    }
    Interruption::answer = let_python_act;
    nothing_has_come();
    for (std::size_t at = 0; at < heard_signals.size(); ++at) {
        hear(at);
    }
}

SignalsHeard::~SignalsHeard() {
    const std::lock_guard<std::mutex> alone(calls().one_at_a_time);
    if (--calls().under_way > 0) {
        return;
    }
    for (std::size_t at = 0; at < heard_signals.size(); ++at) {
        if (calls().is_heard[at]) {
            sigaction(heard_signals[at], &calls().handlers_before[at], nullptr);
        }
    }
}

}  // namespace yantra
