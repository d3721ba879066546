// HopByHop: cheapest ways chosen device by device. A message within a box uses the box's links if
// they join its ends (`stay_in_box` = 1). If unset and an outside way costs as much, it stays if a
// switch joins exactly the box's ranks, and else is refused.
#pragma once

#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "fabric/routing/region.hpp"
#include "fabric/routing/routing.hpp"

namespace yantra {

class HopByHop : public Routing {
public:
    HopByHop(const FabricGraph& graph, const RoutingChoice& choice);

    void route(const Flow& flow, const LinkLoads* loads, std::vector<u32>& path) override;

    u32 region(const Flow& flow) override;
    void next(const Flow& flow, u32 device, std::vector<u32>& links) override;
    u32 choose(const Flow& flow, u32 device, std::span<const u32> links, const LinkLoads* loads) override = 0;

    static RoutingOption stay_in_box();

protected:
    Region& region_of(const Flow& flow);
    void walk(Region& region, u32 from, u32 to, const Flow& flow, const LinkLoads* loads,
              std::vector<u32>& path);
    [[noreturn]] void no_way(u32 from, u32 to) const;

    const FabricGraph& graph_;
    const u64 seed_;

private:
    Region& box(u32 number);
    bool has_own_switch(u32 box);

    const double stay_in_box_;
    Region whole_;
    std::unordered_map<u32, std::unique_ptr<Region>> boxes_;
    std::unordered_map<u32, std::vector<u32>> devices_of_;   // by box
    std::unordered_map<u32, bool> has_own_switch_;      // likewise
};

}  // namespace yantra
