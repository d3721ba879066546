// Interruptible: a call of the core without Python's lock, which Ctrl-C and SIGTERM end between two of its steps.
//
// Python notes a signal and acts on it at the next line of Python, which a long call puts off. As long as such a call
// runs, a handler before Python's notes the signal for the core as well (base/interruption.hpp); the core then lets
// Python act, and ends if that raises. Handlers are as they were when the last of such calls is over; who has none
// but the system's keeps it. Trade-off: four system calls, so it is for calls that may take long.
#pragma once

#include <nanobind/nanobind.h>

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

struct InterruptibleCall {
    SignalsHeard heard;
    nanobind::gil_scoped_release released;
};

using Interruptible = nanobind::call_guard<InterruptibleCall>;

}  // namespace yantra
