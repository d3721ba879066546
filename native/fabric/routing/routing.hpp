// Routing: which links a flow takes through a fabric, by name.
//
// A path is a pure function of the seed and of the flow: its source, its destination, its number and, where
// the routing goes by packets, the packet's. Where it goes by load, of the loads it is shown, too. So a path
// does not depend on what was asked before, and anyone can compute it again. Each routing registers itself in
// its own file (`const RegisteredRouting`), so a new one is a file and nothing else.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "base/ensure.hpp"
#include "base/vector.hpp"
#include "fabric/graph.hpp"

namespace yantra {

struct Flow {
    u32 from = 0;      // devices
    u32 to = 0;
    u64 number = 0;    // tells flows between the same two apart, as ports do
    u32 packet = 0;
};

// How busy links are when a flow starts.
class LinkLoads {
public:
    // In any unit, as long as it is one for all links.
    virtual double load(u32 link) const = 0;

protected:
    ~LinkLoads() = default;
};

// The links of a flow that is divided among ways, each behind those that lead to it, and which part of the flow
// each carries.
struct Division {
    Vector<u32> links;
    Vector<double> parts;
};

class Routing {
public:
    Routing() = default;
    Routing(const Routing&) = delete;
    Routing& operator=(const Routing&) = delete;
    virtual ~Routing() = default;

    // Puts the links of a flow into `path`, in their order. Unsupported where there is no way. `loads` may
    // be null: no link has any. Not const, because ways that were found are remembered.
    virtual void route(const Flow& flow, const LinkLoads* loads, Vector<u32>& path) = 0;
    // For who can divide a flow, of a routing that does: all its links. Unsupported where there is no way.
    virtual void divide(const Flow& /*flow*/, Division& /*into*/) { fail("a routing that divides no flows"); }
};

struct RoutingOption {
    std::string name;
    double fallback = 0.0;
    double least = 0.0;
    std::string help;
    bool is_flag = false;   // 1 is true, 0 false
};

// A routing as a model names it.
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
    // std::invalid_argument where the fabric lacks what the routing needs.
    using Make = std::unique_ptr<Routing> (*)(const FabricGraph&, const RoutingChoice&);

    std::string name;
    std::string help;          // one line
    Make make = nullptr;
    bool by_packet = false;    // packets of one flow go different ways
    bool by_load = false;      // the way depends on what else is under way
    bool by_hash = false;      // a hash of the flow draws the way
    bool divides = false;      // it divides flows for who can do that; others see packets
    Vector<RoutingOption> options;
};

// All routings, by name.
const Vector<RoutingKind>& routing_kinds();
// Null if there is none of that name.
const RoutingKind* find_routing(std::string_view name);
// std::invalid_argument for a name or an option that nobody registered.
std::unique_ptr<Routing> make_routing(const FabricGraph& graph, const RoutingChoice& choice);

struct RegisteredRouting {
    explicit RegisteredRouting(RoutingKind kind);
};

// A number from 0 to `count` - 1 that the seed, the flow and a device decide. It is the hash of
// base/hash.hpp over seed, from, to, number, packet and device, finished by SplitMix64's mix (Steele, Lea
// and Flood, OOPSLA 2014), times `count`, over 2^64.
u32 pick(u64 seed, const Flow& flow, u32 device, std::size_t count);

}  // namespace yantra
