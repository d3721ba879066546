// Flow network: messages share links max-min fairly after waiting out their way's latency
// (network/flow/sharing.hpp); a sender is done a latency earlier. For routings by packet, a message
// is parts. Trade-off: each change costs a solve; queues never delay.
#pragma once

#include <memory>

#include "network/flow/level/background.hpp"
#include "network/flow/level/faults.hpp"
#include "network/flow/level/holds.hpp"

namespace yantra::inline YANTRA_RUN {

class FlowNetwork final : public NetworkModel {
public:
    FlowNetwork(const NetworkSetup& setup, std::unique_ptr<Ways> ways, const flow::Options& options);

    void send(const Message& message, Notice arrived, Notice departed) override;
    void handle(const Event& event) override;
    NetworkCapabilities capabilities() override { return {.held_links = all_.is_over_classes ? &holds_ : nullptr}; }
    std::vector<LinkRecord> links() const override { return all_.ways->records(use()); }
    std::vector<LinkUse> dimensions() const override { return all_.ways->uses(use()); }
    NetworkReport report() override {
        return {all_.ways->busiest(use()), faults_.disturbance(), all_.transits.taken(), nullptr};
    }

private:
    std::vector<LinkUse> use() const { return holds_.carried().rounded(); }

    flow::Common all_;
    flow::Lines lines_;
    flow::Departures departures_;
    flow::Flows flows_;
    flow::Holds holds_;
    flow::Faults faults_;
    flow::Background background_;
};

}  // namespace yantra
