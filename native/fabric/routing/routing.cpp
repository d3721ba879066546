#include "fabric/routing/routing.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>
#include <vector>

#include "base/hash.hpp"
#include "base/unsupported.hpp"

namespace yantra {

namespace {

std::vector<RoutingKind>& registered() {
    static std::vector<RoutingKind> kinds;
    return kinds;
}

[[noreturn]] void chooses_whole_ways() {
    throw Unsupported("the routing chooses whole ways, and packets go by loads device by device; derive it from HopByHop");
}

}  // namespace

u32 Routing::region(const Flow& /*flow*/) { chooses_whole_ways(); }
void Routing::next(const Flow& /*flow*/, u32 /*device*/, std::vector<u32>& /*links*/) { chooses_whole_ways(); }
u32 Routing::choose(const Flow& /*flow*/, u32 /*device*/, std::span<const u32> /*links*/, const LinkLoads* /*loads*/) {
    chooses_whole_ways();
}

RegisteredRouting::RegisteredRouting(RoutingKind kind) {
    std::vector<RoutingKind>& kinds = registered();
    const auto at = std::lower_bound(kinds.begin(), kinds.end(), kind.name,
                                     [](const RoutingKind& k, const std::string& n) { return k.name < n; });
    kinds.insert(at, std::move(kind));
}

const std::vector<RoutingKind>& routing_kinds() { return registered(); }

const RoutingKind* find_routing(std::string_view name) {
    const std::vector<RoutingKind>& kinds = registered();
    const auto found = std::find_if(kinds.begin(), kinds.end(),
                                    [name](const RoutingKind& kind) { return kind.name == name; });
    return found == kinds.end() ? nullptr : &*found;
}

std::unique_ptr<Routing> make_routing(const FabricGraph& graph, const RoutingChoice& choice) {
    const RoutingKind* const kind = find_routing(choice.name);
    if (kind == nullptr) {
        throw std::invalid_argument("no routing is named '" + choice.name + "'");
    }
    for (const auto& [name, value] : choice.options) {
        const auto found = std::find_if(kind->options.begin(), kind->options.end(),
                                        [&](const RoutingOption& option) { return option.name == name; });
        if (found == kind->options.end()) {
            throw std::invalid_argument("routing " + choice.name + " has no option '" + name + "'");
        }
        if (!(value >= found->least)) {
            throw std::invalid_argument("routing " + choice.name + ": '" + name + "' below " +
                                        std::to_string(found->least));
        }
    }
    return kind->make(graph, choice);
}

u32 pick(u64 seed, const Flow& flow, u32 device, std::size_t count) {
    if (count <= 1) {
        return 0;
    }
    u64 hash = mix(0, seed);
    for (u64 part : {u64{flow.from}, u64{flow.to}, flow.number, u64{flow.packet}, u64{device}}) {
        hash = mix(hash, part);
    }
    hash = (hash ^ hash >> 30U) * 0xbf58476d1ce4e5b9ULL;
    hash = (hash ^ hash >> 27U) * 0x94d049bb133111ebULL;
    hash ^= hash >> 31U;
    return static_cast<u32>(static_cast<unsigned __int128>(hash) * count >> 64U);
}

}  // namespace yantra
