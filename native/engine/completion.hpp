// Completion: how a component says that something it was asked for is done.
//
// Whoever asks names itself and hands over two numbers of its own. The answer goes back through one
// call that the run implements, so no component includes the one that asked it. Trade-off: a virtual
// call for each message between nodes and each phase, none for the packets of a phase.
#pragma once

#include "base/types.hpp"
#include "engine/event.hpp"

namespace yantra {

struct Completion {
    EventKind kind;    // none: nobody wants to know
    u32 a = none;
    u32 b = none;
};

class Completions {
public:
    virtual void completed(const Completion& completion) = 0;
    // What it waits for is on its way: the first byte of its message leaves the sender.
    virtual void begins(const Completion&) {}

protected:
    ~Completions() = default;
};

}  // namespace yantra
