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
};

// Of the process, as handlers are.
Calls& calls() {
    static Calls of_process{};
    return of_process;
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
        return;
    }
    Interruption::has_come.store(false, std::memory_order_relaxed);
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

void hear_signals_in_this_thread() { calls().main_thread = std::this_thread::get_id(); }

SignalsHeard::SignalsHeard() {
    const std::lock_guard<std::mutex> alone(calls().one_at_a_time);
    if (calls().under_way++ > 0) {
        return;
    }
    Interruption::answer = let_python_act;
    Interruption::has_come.store(false, std::memory_order_relaxed);
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
