// NetworkChoice: the network that a model names: a level of the core or one from outside.
//
// A network from outside is a Python class or another program, which reports arrivals through a
// NetworkPort. Trade-off: two calls a message across the border, so it is for trying ideas.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>

#include "base/types.hpp"

namespace yantra {

// Its ticks are the run's.
class NetworkPort {
public:
    virtual u64 now() const = 0;
    // The run's next event; `never` if none.
    virtual u64 next() const = 0;
    // The last byte leaves the source. Arrival is at this tick or later.
    virtual void departs(u32 message, u64 tick) = 0;
    // The last byte left at `departed` <= `tick`, unless that was reported before.
    virtual void arrives(u32 message, u64 tick, u64 departed) = 0;
    virtual void wake(u64 tick, u32 token) = 0;

protected:
    ~NetworkPort() = default;
};

class NetworkFromOutside {
public:
    virtual ~NetworkFromOutside() = default;
    // `message` may be reused after arrival. Ends are ranks, without a route; over a fabric
    // devices, with the links in order if the factory wants them.
    virtual void sends(u32 message, u32 src, u32 dst, u64 bytes, std::span<const u32> route) = 0;
    virtual void wakes(u32 token) = 0;
};

class NetworkFactory {
public:
    virtual ~NetworkFactory() = default;
    // One for each run. The port outlives it.
    virtual std::unique_ptr<NetworkFromOutside> make(NetworkPort& port) const = 0;
    // Else the network finds its own ways over a fabric.
    virtual bool wants_routes() const = 0;
};

// A link with another rate from a time on: 0 is down.
struct LinkChange {
    u64 tick = 0;
    u32 link = 0;
    double bytes_per_ns = 0.0;
};

// Between two devices of the fabric, or two ranks.
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
