// Completion: how a component reports that a request is done. Trade-off: a virtual call per message
// between nodes and per phase, none per packet.
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
    virtual void begins(const Completion&) {}

protected:
    ~Completions() = default;
};

}  // namespace yantra
