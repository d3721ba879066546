// Routing: which links a flow takes through a fabric: a pure function of seed, flow, and packet or
// loads where they count. Each registers itself in its own file (`const RegisteredRouting`).
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/ensure.hpp"
#include "fabric/graph.hpp"

namespace yantra {

struct Flow {
    u32 from = 0;      // devices
    u32 to = 0;
    u64 number = 0;    // distinguishes flows between the same two, as ports do
    u32 packet = 0;
};

class LinkLoads {
public:
    // In any unit common to all links.
    virtual double load(u32 link) const = 0;

protected:
    ~LinkLoads() = default;
};

// Each after those leading to it, with its share.
struct Division {
    std::vector<u32> links;
    std::vector<double> parts;
};

class Routing {
public:
    Routing() = default;
    Routing(const Routing&) = delete;
    Routing& operator=(const Routing&) = delete;
    virtual ~Routing() = default;

    // Throws Unsupported without a way. `loads`: null for none. Not const, as ways are cached.
    virtual void route(const Flow& flow, const LinkLoads* loads, std::vector<u32>& path) = 0;
    // Throws Unsupported without a way.
    virtual void divide(const Flow& /*flow*/, Division& /*into*/) { fail("a routing that divides no flows"); }

    // For packets that choose at every device (`by_load`). The defaults throw Unsupported.
    // Flows to one destination and with one region may take the same links from each device.
    virtual u32 region(const Flow& flow);
    // Those of the cheapest ways, ascending; none without a way.
    virtual void next(const Flow& flow, u32 device, std::vector<u32>& links);
    // The place of one in `links`, two or more.
    virtual u32 choose(const Flow& flow, u32 device, std::span<const u32> links, const LinkLoads* loads);
};

struct RoutingOption {
    std::string name;
    double fallback = 0.0;
    double least = 0.0;
    std::string help;
    bool is_flag = false;   // 1 is true, 0 false
};

struct RoutingChoice {
    std::string name = "ecmp";
    std::map<std::string, double> options;   // those that are given
    u64 seed = 0;

    double option(const std::string& of, double fallback) const {
        const auto found = options.find(of);
        return found == options.end() ? fallback : found->second;
    }
};

struct RoutingKind {
    using Make = std::unique_ptr<Routing> (*)(const FabricGraph&, const RoutingChoice&);

    std::string name;
    std::string help;          // one line
    Make make = nullptr;
    bool by_packet = false;    // packets of one flow go different ways
    bool by_load = false;      // the way depends on other traffic: of flows when they start, of packets at each device
    bool by_hash = false;      // a hash of the flow draws the way
    bool divides = false;      // divides flows where the network can; others see packets
    std::vector<RoutingOption> options;
};

const std::vector<RoutingKind>& routing_kinds();
// Null if unknown.
const RoutingKind* find_routing(std::string_view name);
std::unique_ptr<Routing> make_routing(const FabricGraph& graph, const RoutingChoice& choice);

struct RegisteredRouting {
    explicit RegisteredRouting(RoutingKind kind);
};

// From 0 to `count` - 1: the hash of base/hash.hpp over seed, from, to, number, packet and device,
// finished by SplitMix64's mix (Steele, Lea and Flood, OOPSLA 2014), times `count`, over 2^64.
u32 pick(u64 seed, const Flow& flow, u32 device, std::size_t count);

}  // namespace yantra
