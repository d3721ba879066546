// D-mod-k: of the cheapest ways, one by destination number: at the first device with n choices,
// link number destination mod n; at the next, with the quotient, and so on. In a fat tree all flows
// to a host come down one way, and a leaf's hosts spread evenly over the switches above (Zahavi,
// "D-Mod-K routing providing non-blocking traffic for shift permutations on real life fat trees",
// CCIT report 776, Technion 2010). Trade-off: shifts by whole leaves never collide and equal ranks
// fare equally, so jobs fold; other patterns may always collide.
#include "base/vector.hpp"
#include "fabric/routing/hop_by_hop.hpp"

namespace yantra {

namespace {

class DModK final : public HopByHop {
public:
    using HopByHop::HopByHop;

    void route(const Flow& flow, const LinkLoads* loads, Vector<u32>& path) override {
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
