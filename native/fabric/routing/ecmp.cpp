// ECMP: of the cheapest ways, one by a hash of the flow at every device (RFC 2992). Trade-off:
// flows collide by chance, as in real networks.
#include "fabric/routing/hop_by_hop.hpp"

namespace yantra {

namespace {

class Ecmp final : public HopByHop {
public:
    using HopByHop::HopByHop;

private:
    u32 choose(const Flow& flow, u32 device, std::span<const u32> links, const LinkLoads*) override {
        return pick(seed_, {flow.from, flow.to, flow.number, 0}, device, links.size());
    }
};

const RegisteredRouting registered_ecmp({
    .name = "ecmp",
    .help = "of the ways of least weight, one by a hash of the flow",
    .make = [](const FabricGraph& graph, const RoutingChoice& choice) -> std::unique_ptr<Routing> {
        return std::make_unique<Ecmp>(graph, choice);
    },
    .by_hash = true,
    .options = {HopByHop::stay_in_box()},
});

}  // namespace

}  // namespace yantra
