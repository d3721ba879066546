// OutsideNetwork: passes messages to a network from outside the core, and its answers back.
//
// Counts bytes for every dimension that a message crosses, as the analytical network does. It promises
// nothing, so a run on it is never folded.
#pragma once

#include <memory>
#include <vector>

#include "base/pool.hpp"
#include "base/variant.hpp"
#include "engine/engine.hpp"
#include "fabric/grid.hpp"
#include "model/network_choice.hpp"
#include "network/network.hpp"
#include "network/outside_probe.hpp"

namespace yantra::inline YANTRA_RUN {

class OutsideNetwork final : public NetworkModel, private NetworkPort {
public:
    OutsideNetwork(const Grid& grid, Engine& engine, const NetworkFactory& factory)
        : grid_(grid),
          queue_(engine.queue),
          use_(grid.dimensions()),
          probe_(engine.recorder()),
          network_(factory.make(*this)) {}

    void send(const Message& message, Notice arrived, Notice departed) override;
    void handle(const Event& event) override { network_->wakes(event.index); }
    std::vector<LinkRecord> links() const override { return {}; }
    std::vector<LinkUse> dimensions() const override { return use_; }

private:
    struct Transit {
        Notice arrived;
        Notice departed;
        bool under_way = false;
    };

    u64 now() const override { return queue_.now(); }
    void arrives(u32 message, u64 tick, u64 departed) override;
    void wake(u64 tick, u32 token) override;

    const Grid& grid_;
    EventQueue& queue_;
    std::vector<LinkUse> use_;
    Pool<Transit> transits_;
    u32 transits_made_ = 0;
    OutsideProbe probe_;
    std::unique_ptr<NetworkFromOutside> network_;
};

}  // namespace yantra
