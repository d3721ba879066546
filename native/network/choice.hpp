// NetworkChoice: the network that a model names, one of the core's levels or one from outside.
//
// A network from outside is code that the core does not know: a class of Python, or a program that one
// talks to. It hears of messages and says through a NetworkPort when they arrive. Trade-off: two calls a
// message across the border, so it is for trying ideas; what is run a thousand times is written as a level.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>

#include "base/types.hpp"

namespace yantra {

// What a network from outside acts with. Ticks are those of the run.
class NetworkPort {
public:
    virtual u64 now() const = 0;
    // When the run goes on, whatever it is that happens then; `never` if nothing is to come.
    virtual u64 next() const = 0;
    // The last byte of a message leaves the source at a tick. It arrives later, or then.
    virtual void departs(u32 message, u64 tick) = 0;
    // The message arrives at a tick; its last byte has left the source at another, not later one, unless
    // that was told before.
    virtual void arrives(u32 message, u64 tick, u64 departed) = 0;
    // Calls `wakes` at a tick.
    virtual void wake(u64 tick, u32 token) = 0;

protected:
    ~NetworkPort() = default;
};

class NetworkFromOutside {
public:
    virtual ~NetworkFromOutside() = default;
    // Each message has a number, which may be used again once it has arrived. Its ends are ranks, and there
    // is no route; over a fabric they are devices, and the route is the links it takes, in their order, if
    // the factory wants that.
    virtual void sends(u32 message, u32 src, u32 dst, u64 bytes, std::span<const u32> route) = 0;
    virtual void wakes(u32 token) = 0;
};

class NetworkFactory {
public:
    virtual ~NetworkFactory() = default;
    // One for each run. The port outlives it.
    virtual std::unique_ptr<NetworkFromOutside> make(NetworkPort& port) const = 0;
    // Whether messages over a fabric go where its routing says; else the network knows ways of its own.
    virtual bool wants_routes() const = 0;
};

// A link of a fabric that has another rate from a time on: 0 while it is down.
struct LinkChange {
    u64 tick = 0;
    u32 link = 0;
    double bytes_per_ns = 0.0;
};

// Bytes of nobody's job that share the network: between two devices of the fabric or, without one, two ranks.
struct BackgroundFlow {
    u64 tick = 0;
    u32 from = 0;
    u32 to = 0;
    u64 bytes = 0;
};

struct NetworkChoice {
    std::string level = "analytical";
    std::map<std::string, double> options;   // those that are given; see NetworkLevel
    std::shared_ptr<const NetworkFactory> from_outside;   // in place of a level

    double option(const std::string& name, double fallback) const {
        const auto found = options.find(name);
        return found == options.end() ? fallback : found->second;
    }
};

}  // namespace yantra
