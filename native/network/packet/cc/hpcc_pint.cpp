// HPCC over PINT: the largest utilisation of the hops as a power of a base (Ben Basat et al.,
// SIGCOMM 2020, section 4); switches keep the moving average (network/packet/switches.cpp). An ACK
// is read with a probability, and the power is rounded at random.
#include <algorithm>
#include <cmath>
#include <vector>

#include "engine/rng.hpp"
#include "network/packet/congestion_control.hpp"

namespace yantra::packet {

namespace {

constexpr double concurrent = 512.0;   // concurrent flows that the encoding allows for

class HpccPint final : public CongestionControl {
public:
    explicit HpccPint(Senders& senders)
        : CongestionControl(senders),
          target_(option("target_utilisation", 0.95)),
          steps_(static_cast<i32>(option("additive_steps", 0.0))),
          additive_(static_cast<u64>(option("additive_increase", 5e7))),
          least_(static_cast<u64>(option("least_rate", 1e8))),
          base_(option("log_base", 1.05)),
          share_(option("share_of_acks", 1.0)),
          random_(senders.settings.seed, u64{0x70696e74}, 0) {}

    u32 header_bytes(u32) const override {
        const double bits = std::ceil(std::log2(std::log(concurrent * concurrent) / std::log(base_)));
        return bits > 8.0 ? 2 : 1;
    }

    void begin(SenderId sender) override {
        if (!states_.has(sender)) {
            states_.resize(sender.index() + std::size_t{1});
        }
        states_[sender] = State{};
        states_[sender].rate = senders_[sender].line_rate;
    }

    void acknowledged(SenderId sender, const Feedback& feedback) override {
        if (share_ < 1.0 && random_.uniform() >= share_) {
            return;
        }
        State& of = states_[sender];
        const Sender& flow = senders_[sender];
        if (of.mark == 0) {
            of.mark = flow.next;
            return;
        }
        const double power = feedback.stamp == 0 ? 0.0 : static_cast<double>(feedback.stamp - 1);
        const double of_target = std::pow(base_, power) / concurrent / target_;
        u64 rate = of.rate + additive_;
        i32 steps = of.steps + 1;
        if (of_target >= 1 || of.steps >= steps_) {
            const double scaled = static_cast<double>(of.rate) / of_target;
            rate = scaled < 1e18 ? static_cast<u64>(scaled) + additive_ : flow.line_rate;
            steps = 0;
        }
        rate = std::min(std::max(rate, least_), flow.line_rate);
        const u64 next = flow.next;
        senders_.change_rate(sender, rate);
        if (feedback.acknowledged > of.mark) {
            of.rate = rate;
            of.steps = steps;
            of.mark = std::max(of.mark, next);
        }
    }

private:
    struct State {
        u64 rate = 0;
        i32 steps = 0;
        u64 mark = 0;
    };

    double option(const char* name, double fallback) const { return senders_.settings.option(name, fallback); }

    double target_;
    i32 steps_;
    u64 additive_;
    u64 least_;
    double base_;
    double share_;
    Rng random_;
    IdVector<SenderId, State> states_;
};

const RegisteredScheme registered_hpcc_pint({
    "hpcc_pint",
    "HPCC, of one number per packet: the largest utilisation, rounded at random",
    [](Senders& senders) -> std::unique_ptr<CongestionControl> { return std::make_unique<HpccPint>(senders); },
    TelemetryKind::power,
    true,
    {
        {"target_utilisation", "", 0.95, 0.01, "Of the busiest hop."},
        {"additive_steps", "", 0.0, 0.0, "Round trips of additive increase before a multiplicative one."},
        {"additive_increase", "bit/s", 5e7, 0.0, "By which the rate rises."},
        {"least_rate", "bit/s", 1e8, 1.0, "Below which no flow goes."},
        {"log_base", "", 1.05, 1.0001, "Of which the header holds a power."},
        {"share_of_acks", "", 1.0, 0.0, "The probability that an ACK is looked at."},
    },
});

}  // namespace

}  // namespace yantra::packet
