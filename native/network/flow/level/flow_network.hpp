// Flow network: messages share links max-min fairly, without packets or queues: a fabric at best.
//
// A message waits out its way's latency holding nothing, then holds all links until its bytes are
// through (network/flow/sharing.hpp). Its sender is done a latency earlier, when the rest is under
// way at the present rate. `rtt_fairness` weighs by 1 / round trip. For routings by packet, a
// message is parts, each on its way. Trade-off: each change costs a solve of what it can reach;
// queues never delay.
//
// Here each event is given to one of the parts.
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
    Vector<LinkRecord> links() const override { return all_.ways->records(use()); }
    Vector<LinkUse> dimensions() const override { return all_.ways->uses(use()); }
    NetworkReport report() override {
        return {all_.ways->busiest(use()), faults_.disturbance(), all_.transits.taken(), nullptr};
    }

private:
    Vector<LinkUse> use() const { return holds_.carried().rounded(); }

    // Parts call each other, but none does as it is made.
    flow::Common all_;
    flow::Lines lines_;
    flow::Departures departures_;
    flow::Flows flows_;
    flow::Holds holds_;
    flow::Faults faults_;
    flow::Background background_;
};

}  // namespace yantra
