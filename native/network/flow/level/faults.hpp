// Faults: links that fail, return or change rate. Messages on a failed link wait; after the
// rerouting delay they go another way, if any, with their remaining bytes.
#pragma once

#include "network/flow/level/common.hpp"
#include "network/link_changes.hpp"

namespace yantra::inline YANTRA_RUN::flow {

class Flows;

class Faults {
public:
    Faults(Common& all, Flows& flows, const NetworkSetup& setup)
        : all_(all),
          flows_(flows),
          changes_(setup.parameters, all.ways->links(), setup.engine.queue, static_cast<u32>(Kind::changes),
                   static_cast<u32>(Kind::reroutes)) {}

    // And those missed while resting.
    void change_links();
    void catch_up() {
        if (changes_.rests()) [[unlikely]] {
            change_links();
        }
    }
    void reroute();
    bool is_cut(RouteId route) const { return changes_.any() && changes_.crosses_avoided(all_.routes.links(route)); }
    // Keeps the bytes left; stays if all ways are cut.
    void take_another_way(PartId part);
    void watch(PartId part);
    const Disturbance& disturbance() const { return disturbance_; }

private:
    Common& all_;
    Flows& flows_;
    LinkChanges changes_;
    Disturbance disturbance_;
};

}  // namespace yantra::inline YANTRA_RUN::flow
