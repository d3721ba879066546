// NetworkChoice: a level of the core, or one from outside: a Python class or another program, which
// reports arrivals through a NetworkPort. Trade-off: two calls a message across the border.
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
    // Arrival is at this tick or later.
    virtual void departs(u32 message, u64 tick) = 0;
    // Unless that was reported before.
    virtual void arrives(u32 message, u64 tick, u64 departed) = 0;
    virtual void wake(u64 tick, u32 token) = 0;

protected:
    ~NetworkPort() = default;
};

class NetworkFromOutside {
public:
    virtual ~NetworkFromOutside() = default;
    // Ends are ranks, without a route; over a fabric devices, with the links in order if the
    // factory wants them. `message` may be reused after arrival.
    virtual void sends(u32 message, u32 src, u32 dst, u64 bytes, std::span<const u32> route) = 0;
    virtual void wakes(u32 token) = 0;
};

class NetworkFactory {
public:
    virtual ~NetworkFactory() = default;
    // The port outlives it.
    virtual std::unique_ptr<NetworkFromOutside> make(NetworkPort& port) const = 0;
    virtual bool wants_routes() const = 0;
};

// 0 is down.
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
