// Routing: which of the engines of a pool takes a request. Each registers itself in
// serving/routing.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "serving/engine.hpp"

namespace yantra::serving {

struct Target {
    TargetId id;
    const Engine* engine;
};

class Routing {
public:
    Routing() = default;
    Routing(const Routing&) = delete;
    Routing& operator=(const Routing&) = delete;
    virtual ~Routing() = default;

    // A place among `targets`, at least one.
    virtual std::size_t choose(RequestId request, const Requests& requests, std::span<const Target> targets) = 0;
};

struct RoutingKind {
    using Make = std::unique_ptr<Routing> (*)(u64 seed);

    std::string name;
    std::string help;   // one line
    Make make = nullptr;
};

const std::vector<RoutingKind>& routing_kinds();
// Null if unknown.
const RoutingKind* find_routing(std::string_view name);

struct RegisteredRouting {
    [[gnu::cold]] explicit RegisteredRouting(RoutingKind kind);
};

}  // namespace yantra::serving
