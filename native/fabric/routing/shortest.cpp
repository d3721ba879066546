// Shortest: the cheapest way; of several, the first link at every device.
#include "fabric/routing/hop_by_hop.hpp"

namespace yantra {

namespace {

class Shortest final : public HopByHop {
public:
    using HopByHop::HopByHop;

private:
    u32 choose(const Flow&, u32, std::span<const u32>, const LinkLoads*) override { return 0; }
};

const RegisteredRouting registered_shortest({
    .name = "shortest",
    .help = "the way of least weight; of several, the one of the first links",
    .make = [](const FabricGraph& graph, const RoutingChoice& choice) -> std::unique_ptr<Routing> {
        return std::make_unique<Shortest>(graph, choice);
    },
    .options = {HopByHop::stay_in_box()},
});

}  // namespace

}  // namespace yantra
