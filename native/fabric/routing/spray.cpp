// Spray: every packet takes one of the cheapest ways by its own hash (Dixit, Prakash, Hu and
// Kompella, INFOCOM 2013).
#include "fabric/routing/hop_by_hop.hpp"

namespace yantra {

namespace {

class Spray final : public HopByHop {
public:
    using HopByHop::HopByHop;

private:
    u32 choose(const Flow& flow, u32 device, std::span<const u32> links, const LinkLoads*) override {
        return pick(seed_, flow, device, links.size());
    }
};

const RegisteredRouting registered_spray({
    .name = "spray",
    .help = "each packet over one of the ways of least weight, by a hash of flow and packet",
    .make = [](const FabricGraph& graph, const RoutingChoice& choice) -> std::unique_ptr<Routing> {
        return std::make_unique<Spray>(graph, choice);
    },
    .by_packet = true,
    .options = {HopByHop::stay_in_box()},
});

}  // namespace

}  // namespace yantra
