// NSCC: a window from marks and delay, as in the transport of Ultra Ethernet, for packets over many
// ways.
//
// A model, not the specification: the four cases follow public descriptions of the Ultra Ethernet
// Specification 1.0 (2025) and of SMaRTT (Bonato et al., arXiv 2404.01630, 2024), and the constants
// are ours. Queueing delay is the round trip less the least one seen; its mean moves by
// `delay_gain`. For an ACK of n new bytes, packets of m:
//
//               delay below target                                  at or above it
//     no mark   cwnd += proportional (1 - delay / target) m n / cwnd   cwnd += fair m n / cwnd
//     mark      nothing: what is marked is one way of many             cwnd *= max(1 - cut (mean - target) / mean, 1 - most_cut)
//
// The last needs the mean above target, and comes at most once in a base round trip; so does a
// loss, which cuts by most_cut. Silence leaves a packet. The window begins at its maximum,
// `largest` bandwidth-delay products. Law: flows into one port hold a queue of about the target and
// share the port, as the increase is equal for all and the cut in proportion.
//
// Left out: trimming and quick adaptation to it, the receiver's credits (RCCC), its penalty for
// slow memory, coalesced ACKs, and increases gathered over eight packets.
#include <algorithm>
#include <vector>

#include "network/packet/congestion_control.hpp"

namespace yantra::packet {

namespace {

class Nscc final : public CongestionControl {
public:
    explicit Nscc(Senders& senders)
        : CongestionControl(senders),
          target_ns_(option("delay_target", 0.0)),
          gain_(option("delay_gain", 0.0125)),
          proportional_(option("proportional", 4.0)),
          fair_(option("fair", 1.0)),
          cut_(option("cut", 0.8)),
          most_cut_(option("most_cut", 0.5)),
          largest_(option("largest", 1.5)) {}

    u32 header_bytes(u32) const override { return 8; }

    void begin(SenderId sender) override {
        if (!states_.has(sender)) {
            states_.resize(sender.index() + std::size_t{1});
        }
        const Sender& flow = senders_[sender];
        State& of = states_[sender] = State{};
        of.base_ns = senders_.ns(flow.base_rtt);
        of.target_ns = target_ns_ > 0.0 ? target_ns_ : own_target * of.base_ns;
        of.most = std::max(payload(), largest_ * of.base_ns * static_cast<double>(flow.line_rate) / 8e9);
        of.least_ns = 0.0;
        move(sender, of, of.most);
    }

    void acknowledged(SenderId sender, const Feedback& feedback) override {
        State& of = states_[sender];
        const double rtt_ns = senders_.ns(senders_.now() - feedback.stamp);
        of.least_ns = of.least_ns == 0.0 ? rtt_ns : std::min(of.least_ns, rtt_ns);
        const double delay_ns = rtt_ns - of.least_ns;
        of.mean_ns += gain_ * (delay_ns - of.mean_ns);
        if (feedback.is_nack) {
            cut(sender, of, 1.0 - most_cut_);
            return;
        }
        const double share = payload() * static_cast<double>(feedback.newly) / of.cwnd;
        if (!feedback.is_marked) {
            const bool is_short = delay_ns < of.target_ns;
            move(sender, of, of.cwnd + share * (is_short ? proportional_ * (1.0 - delay_ns / of.target_ns) : fair_));
        } else if (delay_ns >= of.target_ns && of.mean_ns > of.target_ns) {
            cut(sender, of, std::max(1.0 - cut_ * (of.mean_ns - of.target_ns) / of.mean_ns, 1.0 - most_cut_));
        }
    }

    void timed_out(SenderId sender) override { move(sender, states_[sender], payload()); }

private:
    static constexpr double own_target = 0.75;   // of the base round trip

    struct State {
        double cwnd = 0.0;       // bytes
        double most = 0.0;
        double base_ns = 0.0;
        double least_ns = 0.0;   // round trip so far; 0: none
        double target_ns = 0.0;
        double mean_ns = 0.0;    // of the delay
        u64 cut_at = 0;
        bool has_cut = false;
    };

    double option(const char* name, double fallback) const { return senders_.settings.option(name, fallback); }
    double payload() const { return senders_.settings.payload_bytes; }

    void cut(SenderId sender, State& of, double kept) {
        if (of.has_cut && senders_.ns(senders_.now() - of.cut_at) < of.base_ns) {
            return;
        }
        of.has_cut = true;
        of.cut_at = senders_.now();
        move(sender, of, of.cwnd * kept);
    }

    void move(SenderId sender, State& of, double cwnd) {
        of.cwnd = std::clamp(cwnd, payload(), of.most);
        senders_.set_window(sender, static_cast<u64>(of.cwnd));
    }

    double target_ns_;
    double gain_;
    double proportional_;
    double fair_;
    double cut_;
    double most_cut_;
    double largest_;
    IdVector<SenderId, State> states_;
};

const RegisteredScheme registered_nscc({
    "nscc",
    "a window from marks and delay together, for packets over many ways",
    [](Senders& senders) -> std::unique_ptr<CongestionControl> { return std::make_unique<Nscc>(senders); },
    TelemetryKind::stamp,
    false,
    {
        {"delay_target", "ns", 0.0, 0.0, "Of the queueing delay; 0: 3/4 of the base round trip."},
        {"delay_gain", "", 0.0125, 0.0, "Of the mean delay's moving average."},
        {"proportional", "", 4.0, 0.0, "Packets by which the window rises in a round trip without delay."},
        {"fair", "", 1.0, 0.0, "Packets by which it rises above the target, without marks."},
        {"cut", "", 0.8, 0.0, "gamma: of a decrease."},
        {"most_cut", "", 0.5, 0.0, "The largest share of the window that is cut at once."},
        {"largest", "", 1.5, 0.01, "Bandwidth-delay products of the window at first and at most."},
    },
    RecoveryKind::selective_repeat,
});

}  // namespace

}  // namespace yantra::packet
