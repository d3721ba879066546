// OutsideNetwork: connects a network from outside the core, counting bytes for every dimension
// crossed, or every link of the route. Such runs are never folded.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "base/pool.hpp"
#include "base/variant.hpp"
#include "engine/engine.hpp"
#include "fabric/grid.hpp"
#include "network/network.hpp"
#include "network/parameters.hpp"
#include "network/ways.hpp"
#include "network/ways_probe.hpp"

namespace yantra::inline YANTRA_RUN {

class OutsideNetwork final : public NetworkModel, private NetworkPort, private LinkLoads {
public:
    explicit OutsideNetwork(const NetworkSetup& setup);

    void send(const Message& message, Notice arrived, Notice departed) override;
    void handle(const Event& event) override { network_->wakes(event.index); }
    std::vector<LinkRecord> links() const override {
        return ways_ ? ways_->records(use_) : std::vector<LinkRecord>();
    }
    std::vector<LinkUse> dimensions() const override { return ways_ ? ways_->uses(use_) : use_; }
    NetworkReport report() override {
        return {ways_ ? ways_->busiest(use_) : std::vector<u64>(), {}, transits_.taken(), nullptr};
    }

private:
    struct Transit {
        Notice arrived;
        Notice departed;
        u64 bytes = 0;
        u64 sent_at = 0;
        u64 departed_at = 0;
        bool under_way = false;
        bool has_departed = false;
        std::vector<u32> path;
    };

    u64 now() const override { return queue_.now(); }
    u64 next() const override;
    void arrives(u32 message, u64 tick, u64 departed) override;
    void departs(u32 message, u64 tick) override;
    void wake(u64 tick, u32 token) override;
    double load(u32 link) const override { return static_cast<double>(loads_[link]); }

    void route(Transit& transit, u32 from, u32 to);
    Transit& under_way(u32 message);
    void let_depart(Transit& transit, u64 tick);

    const Grid& grid_;
    EventQueue& queue_;
    TimeScale scale_;
    std::optional<Ways> ways_;     // over a fabric
    bool has_routes_;
    std::vector<LinkUse> use_;     // by dimension; over a fabric by link
    std::vector<u64> loads_;       // by link, if a routing asks
    Pool<Transit, Freed::readable> transits_;   // whether they are under way
    u32 transits_made_ = 0;
    u32 sent_ = 0;
    WaysProbe probe_;
    std::unique_ptr<NetworkFromOutside> network_;
};

}  // namespace yantra
