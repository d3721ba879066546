// D-mod-k: of the cheapest ways, link number destination mod n at the first device with n choices,
// with the quotient at the next (Zahavi, CCIT report 776, Technion 2010). Trade-off: shifts by
// whole leaves never collide; other patterns may always.
#include <vector>

#include "fabric/routing/hop_by_hop.hpp"

namespace yantra {

namespace {

class DModK final : public HopByHop {
public:
    using HopByHop::HopByHop;

    void route(const Flow& flow, const LinkLoads* loads, std::vector<u32>& path) override {
        rest_ = flow.to;
        HopByHop::route(flow, loads, path);
    }

private:
    u32 choose(const Flow&, u32, std::span<const u32> links, const LinkLoads*) override {
        const auto count = static_cast<u32>(links.size());
        const u32 at = rest_ % count;
        rest_ /= count;
        return at;
    }

    u32 rest_ = 0;   // quotient of the destination's number on the current way
};

const RegisteredRouting registered_d_mod_k({
    .name = "d_mod_k",
    .help = "of the ways of least weight, one by the number of the destination, as InfiniBand's tables for fat trees",
    .make = [](const FabricGraph& graph, const RoutingChoice& choice) -> std::unique_ptr<Routing> {
        return std::make_unique<DModK>(graph, choice);
    },
    .options = {HopByHop::stay_in_box()},
});

}  // namespace

}  // namespace yantra
