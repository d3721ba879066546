// HopByHop: cheapest ways, of which a routing chooses at every device; and the policy "stay in the box".
//
// A message between two ranks of one box goes over the links of that box if they join the two, whatever is
// cheaper outside: so traffic within a server does not leak onto the network between servers. That is what
// `stay_in_box` = 1 states; 0 states that boxes do not matter. Where neither is stated and a way outside costs
// as much, the flow stays where a switch joins all ranks of the box and nothing else, which is what such a switch is
// for. Elsewhere the two answers differ, as where a way outside costs less, and the flow is refused.
#pragma once

#include <memory>
#include <span>
#include <unordered_map>

#include "base/vector.hpp"
#include "fabric/routing/region.hpp"
#include "fabric/routing/routing.hpp"

namespace yantra {

class HopByHop : public Routing {
public:
    HopByHop(const FabricGraph& graph, const RoutingChoice& choice);

    void route(const Flow& flow, const LinkLoads* loads, Vector<u32>& path) override;

    // What every routing of this family takes.
    static RoutingOption stay_in_box();

protected:
    // The place among `links`, two or more, of the one that a flow takes at a device.
    virtual u32 choose(const Flow& flow, u32 device, std::span<const u32> links, const LinkLoads* loads) = 0;

    // The part of the fabric that a flow may use.
    Region& region_of(const Flow& flow);
    // Adds the way from one device to another.
    void walk(Region& region, u32 from, u32 to, const Flow& flow, const LinkLoads* loads,
              Vector<u32>& path);
    [[noreturn]] void no_way(u32 from, u32 to) const;

    const FabricGraph& graph_;
    const u64 seed_;

private:
    Region& box(u32 number);
    bool has_own_switch(u32 box);

    const double stay_in_box_;
    Region whole_;
    std::unordered_map<u32, std::unique_ptr<Region>> boxes_;
    std::unordered_map<u32, Vector<u32>> devices_of_;   // by box
    std::unordered_map<u32, bool> has_own_switch_;      // the same
};

}  // namespace yantra
