// Router: what all routers of one kind do in a cycle: one virtual call for all awake ones. Each
// kind registers itself.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/types.hpp"

namespace yantra::noc {

class Channels;

class Router {
public:
    Router() = default;
    Router(const Router&) = delete;
    Router& operator=(const Router&) = delete;
    virtual ~Router() = default;

    virtual void step() = 0;
};

struct RouterTimes {
    u32 before_switch = 0;   // of a head, from arrival to crossing the switch
    u32 after_switch = 0;    // from then until it is on the channel
    u32 arrival = 0;         // of any flit, before the router sees it
};

struct RouterKind {
    std::string name;
    std::string help;      // one line
    bool takes_cycles = false;      // router_cycles
    bool takes_empty_vcs = false;   // an output VC is free when its buffer is empty, not when a tail has left
    RouterTimes (*times)(u32 router_cycles) = nullptr;
    std::unique_ptr<Router> (*make)(Channels& channels) = nullptr;
};

const std::vector<RouterKind>& routers();
const RouterKind* find_router(std::string_view name);

struct RegisteredRouter {
    [[gnu::cold]] explicit RegisteredRouter(RouterKind kind);
};

}  // namespace yantra::noc
