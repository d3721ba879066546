// TIMELY: the rate follows the gradient of the round-trip time, once per round trip (Mittal et al.,
// SIGCOMM 2015, algorithm 1).
#include <algorithm>
#include <vector>

#include "network/packet/congestion_control.hpp"

namespace yantra::packet {

namespace {

constexpr i32 hyper_after = 5;   // increases in a row

class Timely final : public CongestionControl {
public:
    explicit Timely(Senders& senders)
        : CongestionControl(senders),
          weight_(option("weight", 0.875)),
          decrease_(option("decrease", 0.8)),
          low_ns_(option("low", 50000.0)),
          high_ns_(option("high", 500000.0)),
          least_rtt_ns_(option("least_rtt", 20000.0)),
          additive_(static_cast<u64>(option("additive_increase", 5e7))),
          hyper_(static_cast<u64>(option("hyper_increase", 1e8))),
          least_(static_cast<u64>(option("least_rate", 1e8))) {}

    u32 header_bytes(u32) const override { return 8; }

    void begin(SenderId sender) override {
        if (!states_.has(sender)) {
            states_.resize(sender.index() + std::size_t{1});
        }
        states_[sender] = State{};
        states_[sender].rate = senders_[sender].line_rate;
    }

    void acknowledged(SenderId sender, const Feedback& feedback) override {
        State& of = states_[sender];
        if (feedback.acknowledged <= of.mark) {
            return;
        }
        const u64 next = senders_[sender].next;
        const double rtt_ns = senders_.ns(senders_.now() - feedback.stamp);
        if (of.mark != 0) {
            react(sender, of, rtt_ns);
        }
        if (next > of.mark) {
            of.mark = next;
            of.last_ns = rtt_ns;
        }
    }

private:
    struct State {
        u64 rate = 0;
        u64 mark = 0;
        double last_ns = 0.0;
        double difference_ns = 0.0;
        i32 steps = 0;
    };

    double option(const char* name, double fallback) const { return senders_.settings.option(name, fallback); }

    void react(SenderId sender, State& of, double rtt_ns) {
        of.difference_ns = (1 - weight_) * of.difference_ns + weight_ * (rtt_ns - of.last_ns);
        const double gradient = of.difference_ns / least_rtt_ns_;
        if (rtt_ns < low_ns_ || (rtt_ns <= high_ns_ && gradient <= 0)) {
            const u64 step = of.steps < hyper_after ? additive_ : hyper_;
            of.rate = std::min(of.rate + step, senders_[sender].line_rate);
            ++of.steps;
        } else {
            const double kept = rtt_ns > high_ns_ ? 1 - decrease_ * (1 - high_ns_ / rtt_ns)
                                                  : std::max(0.0, 1 - decrease_ * gradient);
            of.rate = std::max(least_, static_cast<u64>(static_cast<double>(of.rate) * kept));
            of.steps = 0;
        }
        senders_.set_rate(sender, of.rate);
    }

    double weight_;
    double decrease_;
    double low_ns_;
    double high_ns_;
    double least_rtt_ns_;
    u64 additive_;
    u64 hyper_;
    u64 least_;
    IdVector<SenderId, State> states_;
};

const RegisteredScheme registered_timely({
    "timely",
    "the rate follows the gradient of the round-trip time",
    [](Senders& senders) -> std::unique_ptr<CongestionControl> { return std::make_unique<Timely>(senders); },
    TelemetryKind::stamp,
    false,
    {
        {"weight", "", 0.875, 0.0, "Of the latest difference of round-trip times."},
        {"decrease", "", 0.8, 0.0, "beta: of a multiplicative decrease."},
        {"low", "ns", 50000.0, 0.0, "A round trip below which the rate rises."},
        {"high", "ns", 500000.0, 1.0, "A round trip above which it falls."},
        {"least_rtt", "ns", 20000.0, 1.0, "The gradient is in units of it."},
        {"additive_increase", "bit/s", 5e7, 0.0, "By which the rate rises."},
        {"hyper_increase", "bit/s", 1e8, 0.0, "By which it rises after five increases in a row."},
        {"least_rate", "bit/s", 1e8, 1.0, "Below which no flow goes."},
    },
});

}  // namespace

}  // namespace yantra::packet
