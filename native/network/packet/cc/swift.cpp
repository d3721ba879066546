// Swift (Kumar et al., SIGCOMM 2020, algorithms 1 and 2). Per ACK: target = base + hops hop_scale +
// min(max(a / sqrt(cwnd) + b, 0), range), a = range / (1 / sqrt(fs_min) - 1 / sqrt(fs_max)), b = -a
// / sqrt(fs_max). Below it cwnd += ai acked / cwnd, or ai acked where cwnd < 1; else, once a round
// trip, cwnd *= max(1 - beta (delay - target) / delay, 1 - most_cut). A loss cuts by most_cut.
// Constants are csg-htsim's guesses; the base target of 5/4 of the base round trip is ours.
#include <algorithm>
#include <cmath>
#include <vector>

#include "network/packet/congestion_control.hpp"

namespace yantra::packet {

namespace {

constexpr double own_target = 1.25;   // of the base round trip

class Swift final : public CongestionControl {
public:
    explicit Swift(Senders& senders)
        : CongestionControl(senders),
          base_ns_(option("base_target", 0.0)),
          hop_ns_(option("hop_scale", 0.0)),
          range_(option("flow_range", 5.0)),
          fewest_(option("flow_range_from", 0.1)),
          most_(option("flow_range_to", 100.0)),
          increase_(option("window_increase", 1.0)),
          beta_(option("decrease", 0.8)),
          most_cut_(option("most_cut", 0.5)),
          least_(option("least_window", 0.001)),
          largest_(option("largest_window", 1e6)),
          resets_after_(static_cast<u32>(option("resets_after", 5.0))) {}

    u32 header_bytes(u32) const override { return 8; }

    void begin(SenderId sender) override {
        if (!states_.has(sender)) {
            states_.resize(sender.index() + std::size_t{1});
        }
        const Sender& flow = senders_[sender];
        const double rtt_ns = senders_.ns(flow.base_rtt);
        const double bytes = rtt_ns * static_cast<double>(flow.line_rate) / 8e9;
        states_[sender] = State{};
        states_[sender].rtt_ns = rtt_ns;
        move(sender, states_[sender], std::max(1.0, bytes / payload()));
    }

    void acknowledged(SenderId sender, const Feedback& feedback) override {
        State& of = states_[sender];
        of.rtt_ns = senders_.ns(senders_.now() - feedback.stamp);
        if (feedback.newly > 0) {
            of.timeouts = 0;
        }
        if (feedback.is_nack) {
            cut(sender, of, 1.0 - most_cut_);
            return;
        }
        const double target_ns = target(senders_[sender], of.cwnd);
        if (of.rtt_ns < target_ns) {
            const double acked = static_cast<double>(feedback.newly) / payload();
            move(sender, of, of.cwnd + increase_ * acked / std::max(of.cwnd, 1.0));
        } else {
            cut(sender, of, std::max(1.0 - beta_ * (of.rtt_ns - target_ns) / of.rtt_ns, 1.0 - most_cut_));
        }
    }

    void timed_out(SenderId sender) override {
        State& of = states_[sender];
        if (++of.timeouts >= resets_after_) {
            of.has_cut = true;
            of.cut_at = senders_.now();
            move(sender, of, least_);
        } else {
            cut(sender, of, 1.0 - most_cut_);
        }
    }

private:
    struct State {
        double cwnd = 1.0;       // packets
        double rtt_ns = 0.0;
        u64 cut_at = 0;
        u32 timeouts = 0;        // in a row
        bool has_cut = false;
    };

    double option(const char* name, double fallback) const { return senders_.settings.option(name, fallback); }
    double payload() const { return senders_.settings.payload_bytes; }

    double target(const Sender& flow, double cwnd) const {
        const double base = base_ns_ > 0.0 ? base_ns_ : own_target * senders_.ns(flow.base_rtt);
        const double range = range_ * base;
        const double a = range / (1.0 / std::sqrt(fewest_) - 1.0 / std::sqrt(most_));
        const double b = -a / std::sqrt(most_);
        const double of_flows = std::min(std::max(a / std::sqrt(cwnd) + b, 0.0), range);
        return base + flow.data_links * hop_ns_ + of_flows;
    }

    void cut(SenderId sender, State& of, double kept) {
        if (of.has_cut && senders_.ns(senders_.now() - of.cut_at) < of.rtt_ns) {
            return;
        }
        of.has_cut = true;
        of.cut_at = senders_.now();
        move(sender, of, of.cwnd * kept);
    }

    void move(SenderId sender, State& of, double cwnd) {
        of.cwnd = std::min(std::max(cwnd, least_), largest_);
        const Sender& flow = senders_[sender];
        const double bits = payload() * 8.0;
        const double paced = of.cwnd * bits / (of.rtt_ns * 1e-9);
        const u64 rate = of.cwnd < 1.0 ? std::min(flow.line_rate, std::max<u64>(static_cast<u64>(paced), 1))
                                       : flow.line_rate;
        senders_.set_rate(sender, rate);
        senders_.set_window(sender, static_cast<u64>(std::max(1.0, std::floor(of.cwnd)) * payload()));
    }

    double base_ns_;
    double hop_ns_;
    double range_;
    double fewest_;
    double most_;
    double increase_;
    double beta_;
    double most_cut_;
    double least_;
    double largest_;
    u32 resets_after_;
    IdVector<SenderId, State> states_;
};

const RegisteredScheme registered_swift({
    "swift",
    "the window follows a target of delay, which is higher for small windows",
    [](Senders& senders) -> std::unique_ptr<CongestionControl> { return std::make_unique<Swift>(senders); },
    TelemetryKind::stamp,
    false,
    {
        {"base_target", "ns", 0.0, 0.0, "Of the delay, for a large window; 0: 5/4 of the base round trip."},
        {"hop_scale", "ns", 0.0, 0.0, "By which the target is higher for each link."},
        {"flow_range", "", 5.0, 0.0, "By how many base targets the target is higher for the smallest windows."},
        {"flow_range_from", "", 0.1, 1e-6, "Packets of window up to which the target is that much higher."},
        {"flow_range_to", "", 100.0, 1e-3, "Packets of window from which on it is not higher."},
        {"window_increase", "", 1.0, 0.0, "Packets by which the window rises in a round trip."},
        {"decrease", "", 0.8, 0.0, "beta: of a multiplicative decrease."},
        {"most_cut", "", 0.5, 0.0, "The largest share of the window that is cut at once."},
        {"least_window", "", 0.001, 1e-6, "Packets."},
        {"largest_window", "", 1e6, 1.0, "Packets."},
        {"resets_after", "", 5.0, 1.0, "Timeouts in a row after which the window is the least."},
    },
});

}  // namespace

}  // namespace yantra::packet
