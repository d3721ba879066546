#include "fabric/routing/hop_by_hop.hpp"

#include <cmath>
#include <string>

#include "base/unsupported.hpp"
#include "base/vector.hpp"

namespace yantra {

namespace {

constexpr double not_stated = -1.0;

}  // namespace

RoutingOption HopByHop::stay_in_box() {
    return {"stay_in_box", not_stated, not_stated,
            "1: flows within a box stay in it, 0: they need not; by default what is cheaper if that is clear"};
}

HopByHop::HopByHop(const FabricGraph& graph, const RoutingChoice& choice)
    : graph_(graph),
      seed_(choice.seed),
      stay_in_box_(choice.option("stay_in_box", not_stated)),
      whole_(graph) {
    for (u32 device = 0; device < graph.devices(); ++device) {
        if (graph.box(device) != none) {
            devices_of_[graph.box(device)].push_back(device);
        }
    }
}

Region& HopByHop::box(u32 number) {
    std::unique_ptr<Region>& of = boxes_[number];
    if (of == nullptr) {
        of = std::make_unique<Region>(graph_, devices_of_.at(number));
    }
    return *of;
}

Region& HopByHop::region_of(const Flow& flow) {
    const u32 number = graph_.box(flow.from);
    if (number == none || number != graph_.box(flow.to) || stay_in_box_ == 0.0) {
        return whole_;
    }
    Region& inside = box(number);
    const double cost = inside.cost(flow.from, flow.to);
    if (!std::isfinite(cost)) {
        return whole_;
    }
    if (stay_in_box_ == not_stated && whole_.cost(flow.from, flow.to) <= cost) {
        Vector<u32> links;
        for (u32 at = flow.from; at != flow.to; at = graph_.to(links.back())) {
            for (u32 link : whole_.next(at, flow.to)) {
                if (graph_.box(graph_.to(link)) != number) {
                    throw Unsupported("the fabric: from " + graph_.name(flow.from) + " to " +
                                      graph_.name(flow.to) + ", both in box " + std::to_string(number) + ", " +
                                      graph_.link_name(link) +
                                      " leads out of it and costs no more than a way inside; state which is meant, "
                                      "stay_in_box: 1 or 0 in the options of the routing");
                }
                links.push_back(link);
            }
        }
    }
    return inside;
}

void HopByHop::route(const Flow& flow, const LinkLoads* loads, Vector<u32>& path) {
    path.clear();
    walk(region_of(flow), flow.from, flow.to, flow, loads, path);
}

void HopByHop::walk(Region& region, u32 from, u32 to, const Flow& flow, const LinkLoads* loads,
                    Vector<u32>& path) {
    for (u32 at = from; at != to;) {
        const std::span<const u32> links = region.next(at, to);
        if (links.empty()) {
            no_way(from, to);
        }
        const u32 link = links[links.size() == 1 ? 0 : choose(flow, at, links, loads)];
        path.push_back(link);
        at = graph_.to(link);
    }
}

void HopByHop::no_way(u32 from, u32 to) const {
    throw Unsupported("the fabric: no way from " + graph_.name(from) + " to " + graph_.name(to));
}

}  // namespace yantra
