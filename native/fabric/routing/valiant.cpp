// Valiant: through an intermediate device drawn by a hash of the flow (Valiant, SIAM J. Computing
// 1982): switches outside boxes, else inside, else ranks. Trade-off: twice the hops.
#include <vector>

#include "fabric/routing/hop_by_hop.hpp"

namespace yantra {

namespace {

class Valiant final : public HopByHop {
public:
    Valiant(const FabricGraph& graph, const RoutingChoice& choice) : HopByHop(graph, choice) {}

    void route(const Flow& flow, const LinkLoads* loads, std::vector<u32>& path) override {
        path.clear();
        Region& region = region_of(flow);
        const u32 between = device_between(region, flow);
        if (flow.from == flow.to || between == flow.from || between == flow.to) {
            walk(region, flow.from, flow.to, flow, loads, path);
            return;
        }
        walk(region, flow.from, between, flow, loads, path);
        const std::size_t there = path.size();
        walk(region, between, flow.to, flow, loads, path);
        cut_link_taken_twice(path, there);
    }

private:
    u32 choose(const Flow& flow, u32 device, std::span<const u32> links, const LinkLoads*) override {
        return pick(seed_, {flow.from, flow.to, flow.number, 0}, device, links.size());
    }

    u32 device_between(const Region& region, const Flow& flow) {
        std::vector<u32>& candidates = between_[&region];
        const auto is_switch = [this](u32 device) { return graph_.kind(device) == DeviceKind::switched; };
        collect(region, candidates, [&](u32 device) { return is_switch(device) && graph_.box(device) == none; });
        collect(region, candidates, is_switch);
        collect(region, candidates, [](u32) { return true; });
        return candidates[pick(seed_, {flow.from, flow.to, flow.number, 0}, none, candidates.size())];
    }

    template <class IsSort>
    static void collect(const Region& region, std::vector<u32>& candidates, IsSort&& is_sort) {
        for (u32 at = 0, others = candidates.empty() ? region.relays() : 0; at < others; ++at) {
            if (is_sort(region.relay(at))) {
                candidates.push_back(region.relay(at));
            }
        }
    }

    void cut_link_taken_twice(std::vector<u32>& path, std::size_t there) const {
        for (std::size_t later = path.size(); later-- > there;) {
            for (std::size_t before = 0; before < there; ++before) {
                if (path[before] == path[later]) {
                    const auto begin = path.begin();
                    path.erase(begin + static_cast<std::ptrdiff_t>(before), begin + static_cast<std::ptrdiff_t>(later));
                    return;
                }
            }
        }
    }

    std::unordered_map<const Region*, std::vector<u32>> between_;
};

const RegisteredRouting registered_valiant({
    .name = "valiant",
    .help = "by way of a switch that a hash of the flow draws, over ways of least weight there and on",
    .make = [](const FabricGraph& graph, const RoutingChoice& choice) -> std::unique_ptr<Routing> {
        return std::make_unique<Valiant>(graph, choice);
    },
    .by_hash = true,
    .options = {HopByHop::stay_in_box()},
});

}  // namespace

}  // namespace yantra
