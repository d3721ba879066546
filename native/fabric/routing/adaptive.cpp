// Adaptive: at every device the least loaded link on a cheapest way; ties by hash. Flows see loads
// at their start, packets at each switch, as in Broadcom's DLB (Juniper, "Customize Egress Port Link
// Quality Metrics for DLB") and NVIDIA's adaptive routing. Trade-off: exact loads, where switches
// have eight bands of quality; flows see all links on their way.
#include <algorithm>
#include <vector>

#include "fabric/routing/hop_by_hop.hpp"

namespace yantra {

namespace {

class Adaptive final : public HopByHop {
public:
    using HopByHop::HopByHop;

private:
    u32 choose(const Flow& flow, u32 device, std::span<const u32> links, const LinkLoads* loads) override {
        const auto load_of = [loads](u32 link) { return loads == nullptr ? 0.0 : loads->load(link); };
        least_.clear();
        double least = load_of(links[0]);
        for (u32 at = 0; at < links.size(); ++at) {
            const double load = load_of(links[at]);
            if (load < least) {
                least = load;
                least_.clear();
            }
            if (load == least) {
                least_.push_back(at);
            }
        }
        return least_[pick(seed_, flow, device, least_.size())];
    }

    std::vector<u32> least_;
};

const RegisteredRouting registered_adaptive({
    .name = "adaptive",
    .help = "at each device the least loaded link of those on a way of least weight, when the flow starts or the packet "
            "comes",
    .make = [](const FabricGraph& graph, const RoutingChoice& choice) -> std::unique_ptr<Routing> {
        return std::make_unique<Adaptive>(graph, choice);
    },
    .by_load = true,
    .options = {HopByHop::stay_in_box()},
});

}  // namespace

}  // namespace yantra
