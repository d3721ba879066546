#include "fabric/routing/hop_by_hop.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "base/unsupported.hpp"

namespace yantra {

namespace {

constexpr double not_stated = -1.0;
constexpr double never_reached = std::numeric_limits<double>::infinity();

}  // namespace

RoutingOption HopByHop::stay_in_box() {
    return {"stay_in_box", not_stated, not_stated,
            "true: flows between ranks of one box stay in it; false: boxes do not matter; by default they stay in "
            "it where that is cheaper, or its ranks have a switch of their own",
            true};
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

bool HopByHop::has_own_switch(u32 number) {
    const auto [known, is_new] = has_own_switch_.try_emplace(number, false);
    if (!is_new) {
        return known->second;
    }
    const std::vector<u32>& devices = devices_of_.at(number);
    const auto is_rank = [this](u32 device) { return device < graph_.ranks(); };
    const auto ranks = std::count_if(devices.begin(), devices.end(), is_rank);
    for (u32 device : devices) {
        std::vector<u32> joined;
        for (u32 link : graph_.out(device)) {
            joined.push_back(graph_.to(link));
        }
        const bool is_own = !is_rank(device) && std::all_of(joined.begin(), joined.end(), [&](u32 at) {
            return is_rank(at) && graph_.box(at) == number;
        });
        std::sort(joined.begin(), joined.end());
        known->second |= is_own && std::unique(joined.begin(), joined.end()) - joined.begin() == ranks;
    }
    return known->second;
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
    const double least = stay_in_box_ == not_stated ? whole_.cost(flow.from, flow.to) : never_reached;
    if (least < cost || (least == cost && !has_own_switch(number))) {
        std::vector<u32> links;
        for (u32 at = flow.from; at != flow.to; at = graph_.to(links.back())) {
            for (u32 link : whole_.next(at, flow.to)) {
                if (graph_.box(graph_.to(link)) != number) {
                    throw Unsupported("the fabric: from " + graph_.name(flow.from) + " to " +
                                      graph_.name(flow.to) + ", both in box " + std::to_string(number) + ", " +
                                      graph_.link_name(link) +
                                      " leads out of it and costs no more than a way inside; state which is meant, "
                                      "stay_in_box: true or false in the options of the routing");
                }
                links.push_back(link);
            }
        }
    }
    return inside;
}

void HopByHop::route(const Flow& flow, const LinkLoads* loads, std::vector<u32>& path) {
    path.clear();
    walk(region_of(flow), flow.from, flow.to, flow, loads, path);
}

u32 HopByHop::region(const Flow& flow) { return &region_of(flow) == &whole_ ? none : graph_.box(flow.from); }

void HopByHop::next(const Flow& flow, u32 device, std::vector<u32>& links) {
    const std::span<const u32> found = region_of(flow).next(device, flow.to);
    links.assign(found.begin(), found.end());
}

void HopByHop::walk(Region& region, u32 from, u32 to, const Flow& flow, const LinkLoads* loads,
                    std::vector<u32>& path) {
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
