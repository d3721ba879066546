// Ways: each message's path: over the fabric, if any, by routing and placement; else over the
// dimensions (fabric/links.hpp).
#pragma once

#include <memory>
#include <vector>

#include "base/variant.hpp"
#include "fabric/grid.hpp"
#include "fabric/links.hpp"
#include "fabric/routing/routing.hpp"
#include "fabric/way.hpp"
#include "network/network.hpp"
#include "network/parameters.hpp"

namespace yantra::inline YANTRA_RUN {

class Ways {
public:
    Ways(const NetworkParameters& parameters, const Grid& grid);
    virtual ~Ways() = default;
    Ways(const Ways&) = delete;
    Ways& operator=(const Ways&) = delete;

    virtual u32 links() const { return fabric_ == nullptr ? grid_links_.count() : fabric_->links(); }
    // If links represent classes, one of the class.
    virtual u32 one_of(u32 link) const { return link; }
    double bytes_per_ns(u32 link) const {
        const u32 one = one_of(link);
        return fabric_ == nullptr ? of_grid(one).bytes_per_ns : fabric_->bytes_per_ns(one);
    }
    double latency_ns(u32 link) const {
        return fabric_ == nullptr ? of_grid(link).latency_ns : fabric_->latency_ns(link);
    }
    // Dimensions, or labels of the fabric.
    u32 groups() const;
    u32 group(u32 link) const { return group_of(one_of(link)); }

    bool by_packet() const { return routing_ != nullptr && kind_->by_packet; }
    bool by_load() const { return routing_ != nullptr && kind_->by_load; }
    bool divides() const { return routing_ != nullptr && kind_->divides; }
    // Without a fabric, the rank.
    virtual u32 place(RankId rank) const {
        return fabric_ == nullptr ? rank.index() : parameters_.placement[rank.index()];
    }
    // Precondition: the places differ.
    void route(u32 from, u32 to, u32 packet, const LinkLoads* loads, std::vector<u32>& path);
    virtual void find(u32 from, u32 to, u32 packet, const LinkLoads* loads, Way& way);
    // As of the routing, for packets that choose at every device; without one that is avoided, unless
    // there is no other way.
    u32 region(u32 from, u32 to) { return routing_->region({from, to, 0, 0}); }
    void next(u32 from, u32 to, u32 device, std::vector<u32>& links);
    u32 choose(const Flow& flow, u32 device, std::span<const u32> links, const LinkLoads& loads) {
        return routing_->choose(flow, device, links, &loads);
    }
    void avoid(const std::vector<bool>& is_down);
    bool has_fabric() const { return fabric_ != nullptr; }
    u32 start_of(u32 link) const { return fabric_->from(link); }

    // Null where links represent themselves.
    virtual const std::vector<u32>* class_of() const { return nullptr; }
    virtual void came_at_once(u32 /*from*/, u32 /*to*/) {}

    virtual std::vector<LinkUse> uses(const std::vector<LinkUse>& of_links) const;
    std::vector<u64> busiest(const std::vector<LinkUse>& of_links) const;
    virtual std::vector<LinkRecord> records(const std::vector<LinkUse>& of_links) const;

private:
    u32 group_of(u32 link) const {
        return fabric_ == nullptr ? grid_links_.dimension_of(link) : fabric_->label(link);
    }
    bool goes_round(const Flow& flow, const LinkLoads* loads, std::vector<u32>& path);
    void divide(const Flow& flow);
    double latency_of(const Way& way);
    const Dimension& of_grid(u32 link) const { return grid_.dimension(grid_links_.dimension_of(link)); }

    const NetworkParameters& parameters_;
    const Grid& grid_;
    Links grid_links_;
    const FabricGraph* fabric_;                  // null: the dimensions
    const RoutingKind* kind_ = nullptr;
    std::unique_ptr<const FabricGraph> reduced_;   // without links that are down
    std::vector<u32> link_of_reduced_;           // by link of it
    std::unique_ptr<Routing> routing_;           // over the whole fabric
    std::unique_ptr<Routing> of_reduced_;
    Division division_;
    std::vector<double> reached_ns_;             // by device, when a flow arrives there
};

}  // namespace yantra
