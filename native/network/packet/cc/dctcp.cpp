// DCTCP (Alizadeh et al., SIGCOMM 2010, section 3.3): a cut in proportion to the share of marked
// packets, once per round trip, as a rate: r (1 - alpha / 2), else r + AI.
#include <algorithm>
#include <vector>

#include "network/packet/congestion_control.hpp"

namespace yantra::packet {

namespace {

class Dctcp final : public CongestionControl {
public:
    explicit Dctcp(Senders& senders)
        : CongestionControl(senders),
          gain_(option("gain", 1.0 / 256)),
          additive_(static_cast<u64>(option("additive_increase", 1e9))),
          least_(static_cast<u64>(option("least_rate", 1e8))) {}

    void begin(SenderId sender) override {
        if (!states_.has(sender)) {
            states_.resize(sender.index() + std::size_t{1});
        }
        states_[sender] = State{};
    }

    void acknowledged(SenderId sender, const Feedback& feedback) override {
        State& of = states_[sender];
        const Sender& flow = senders_[sender];
        of.marked += feedback.is_marked ? 1 : 0;
        const bool is_full = feedback.acknowledged > of.mark;
        if (is_full) {
            end_round(of, flow, feedback.acknowledged);
        }
        if (of.is_reduced && feedback.acknowledged > of.reduced_until) {
            of.is_reduced = false;
        }
        if (feedback.is_marked && !of.is_reduced) {
            const double kept = static_cast<double>(flow.rate) * (1 - of.alpha / 2);
            of.is_reduced = true;
            of.reduced_until = flow.next;
            senders_.set_rate(sender, std::max(least_, static_cast<u64>(kept)));
        }
        if (!of.is_reduced && is_full) {
            senders_.set_rate(sender, std::min(flow.line_rate, flow.rate + additive_));
        }
    }

private:
    struct State {
        double alpha = 1.0;
        u64 mark = 0;
        u64 marked = 0;
        u64 round = 1;           // packets of it
        u64 reduced_until = 0;
        bool is_reduced = false;
    };

    double option(const char* name, double fallback) const { return senders_.settings.option(name, fallback); }

    void end_round(State& of, const Sender& flow, u64 acknowledged) {
        if (of.mark == 0) {
            of.mark = flow.next;
            of.round = flow.next / senders_.settings.payload_bytes + 1;
            return;
        }
        const double share = std::min(1.0, static_cast<double>(of.marked) / static_cast<double>(of.round));
        of.alpha = (1 - gain_) * of.alpha + gain_ * share;
        of.mark = flow.next;
        of.marked = 0;
        of.round = (flow.next - std::min(flow.next, acknowledged)) / senders_.settings.payload_bytes + 1;
    }

    double gain_;
    u64 additive_;
    u64 least_;
    IdVector<SenderId, State> states_;
};

const RegisteredScheme registered_dctcp({
    "dctcp",
    "a cut in proportion to the share of marked packets, once per round trip",
    [](Senders& senders) -> std::unique_ptr<CongestionControl> { return std::make_unique<Dctcp>(senders); },
    TelemetryKind::none,
    false,
    {
        {"gain", "", 1.0 / 256, 0.0, "g of alpha's moving average."},
        {"additive_increase", "bit/s", 1e9, 0.0, "By which the rate rises in a round trip."},
        {"least_rate", "bit/s", 1e8, 1.0, "Below which no flow is cut."},
    },
});

}  // namespace

}  // namespace yantra::packet
