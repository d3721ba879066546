// Router: what the routers of a network do in a cycle, all of one kind.
//
// A kind is one file, which registers itself. It is asked once a cycle for all routers that have something to do, and
// works on the buffers and channels of channels.hpp; so no flit costs a call that the compiler cannot inline.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/types.hpp"
#include "base/vector.hpp"

namespace yantra::noc {

class Channels;

class Router {
public:
    Router() = default;
    Router(const Router&) = delete;
    Router& operator=(const Router&) = delete;
    virtual ~Router() = default;

    // One cycle of all routers that are awake.
    virtual void step() = 0;
};

// The cycles that a flit spends in a router, where nothing is in the way.
struct RouterTimes {
    u32 before_switch = 0;   // of a head, from its arrival to the cycle in which it crosses the switch
    u32 after_switch = 0;    // from that cycle until it is on the channel
    u32 arrival = 0;         // of any flit, on its way in, before the router sees it
};

struct RouterKind {
    std::string name;
    std::string help;      // one line
    bool takes_cycles = false;      // router_cycles
    bool takes_empty_vcs = false;   // an output VC is free again when its buffer is empty, not when a tail has left
    RouterTimes (*times)(u32 router_cycles) = nullptr;
    std::unique_ptr<Router> (*make)(Channels& channels) = nullptr;
};

// By name.
const Vector<RouterKind>& routers();
const RouterKind* find_router(std::string_view name);

struct RegisteredRouter {
    [[gnu::cold]] explicit RegisteredRouter(RouterKind kind);
};

}  // namespace yantra::noc
