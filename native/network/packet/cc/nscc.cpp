// NSCC: a window from marks and delay, for packets over many ways and switches that trim, by the
// public text of the Ultra Ethernet Specification 1.0 (2025, section 3.6.13) and its workgroup's
// open simulator (github.com/ultraethernet/uet-htsim), read for constants alone.
//
// T is the round trip of a message's way when nothing waits, or less if one was less; BDP = T x
// rate. Delay is a round trip less T, its target 3/4 T. a = BDP / (100 Gb/s x 12 us) scales what
// grows. An ACK of n new bytes, with packets of m:
//
//               delay below target                                  at or above it
//     no mark   gain += proportional a m n (target - delay) / 12 us   gain += fair a m n
//     mark      nothing: what is marked is one way of many            cwnd *= max(1 - cut (mean - target) / mean, 1 - most_cut)
//
// Every 8 packets or T, cwnd += gain / cwnd; every T, + 0.15 a m. Below 1 us of delay for a whole
// window, each ACK adds n a / 4 at once. Cuts are T apart and need the mean above target; unmarked
// packets above it count in the mean as T / 4.
//
// A packet that was trimmed costs its bytes. Quick adapt: each T + target, if packets were trimmed or
// delays above four targets, and less than an eighth of the largest window came through, the window
// becomes what came through, and what was under way then cuts no more. The window begins at its
// maximum, `largest` BDPs. Silence costs what was under way. Law: flows into one port share it, as the
// increase is equal for all and the cut in proportion. Left out: the receiver's penalty for slow
// memory.
#include <algorithm>
#include <vector>

#include "network/packet/congestion_control.hpp"

namespace yantra::packet {

namespace {

constexpr double reference_ns = 12e3;
constexpr double reference_bytes = 12.5 * reference_ns;   // 100 Gb/s
constexpr double steady = 0.15;                           // packets in a T
constexpr double short_delay_ns = 1e3;
constexpr double fast = 0.25;
constexpr double packets_of_gain = 8.0;
constexpr double long_delay = 4.0;                        // targets
constexpr double through = 1.0 / 8;                       // of the largest window

class Nscc final : public CongestionControl {
public:
    explicit Nscc(Senders& senders)
        : CongestionControl(senders),
          target_ns_(option("delay_target", 0.0)),
          gain_(option("delay_gain", 0.0125)),
          proportional_(option("proportional", 4.0)),
          fair_(option("fair", 5.0)),
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
        of.base_ns = of.first_ns = senders_.ns(flow.base_rtt);
        of.bytes_per_ns = static_cast<double>(flow.line_rate) / 8e9;
        of.target_ns = target_ns_ > 0.0 ? target_ns_ : own_target * of.base_ns;
        of.scale = of.base_ns * of.bytes_per_ns / reference_bytes;
        of.cwnd = most(of);
        apply(sender, of);
    }

    void acknowledged(SenderId sender, const Feedback& feedback) override {
        State& of = states_[sender];
        if (feedback.is_nack) {
            was_trimmed(sender, of);
        } else {
            was_received(sender, of, feedback);
        }
        apply(sender, of);
    }

    void timed_out(SenderId sender) override {
        states_[sender].cwnd -= static_cast<double>(senders_[sender].under_way());
        apply(sender, states_[sender]);
    }

private:
    static constexpr double own_target = 0.75;   // of T

    struct State {
        double cwnd = 0.0;       // bytes
        double base_ns = 0.0;    // T
        double first_ns = 0.0;   // T as it began
        double bytes_per_ns = 0.0;
        double target_ns = 0.0;
        double scale = 0.0;      // a
        double mean_ns = 0.0;    // of the delay
        double gain = 0.0;       // bytes times bytes, not yet in the window
        double gained_for = 0.0; // bytes that came since it was
        double came = 0.0;       // bytes, in this T + target
        double quickly_for = 0.0;   // bytes that came without delay
        double to_ignore = 0.0;  // bytes whose marks and trims say nothing new
        double gained_ns = 0.0;  // times of events
        double cut_ns = 0.0;
        double adapts_ns = 0.0;  // 0: it never looked
        bool is_fast = false;
        bool was_trimmed = false;
    };

    double option(const char* name, double fallback) const { return senders_.settings.option(name, fallback); }
    double payload() const { return senders_.settings.payload_bytes; }
    double most(const State& of) const { return std::max(payload(), largest_ * of.base_ns * of.bytes_per_ns); }
    double now_ns() const { return senders_.ns(senders_.now()); }

    void count(State& of, double delay_ns) const { of.mean_ns += gain_ * (delay_ns - of.mean_ns); }

    void was_received(SenderId sender, State& of, const Feedback& feedback) {
        const double rtt_ns = senders_.ns(senders_.now() - feedback.stamp);
        const double newly = static_cast<double>(feedback.newly);
        of.base_ns = std::min(of.base_ns, rtt_ns);
        const double delay_ns = rtt_ns - of.base_ns;
        const bool is_late = delay_ns >= of.target_ns;
        count(of, !feedback.is_marked && delay_ns > of.target_ns ? of.base_ns / 4 : delay_ns);
        of.came += newly;
        of.gained_for += newly;
        of.to_ignore -= newly;
        if (adapts(sender, of, feedback.is_marked, false, delay_ns)) {
            return;
        }
        if (!feedback.is_marked && is_late) {
            of.gain += fair_ * of.scale * payload() * newly;
        } else if (!feedback.is_marked) {
            grow(of, newly, delay_ns);
        } else if (is_late) {
            decrease(of);
        }
        of.cwnd = std::clamp(of.cwnd, payload(), most(of));
        if (of.gained_for > packets_of_gain * payload() || now_ns() - of.gained_ns > of.first_ns) {
            add_gain(of);
        }
    }

    void grow(State& of, double newly, double delay_ns) const {
        of.quickly_for = delay_ns < short_delay_ns ? of.quickly_for + newly : 0.0;
        of.is_fast = delay_ns < short_delay_ns && (of.is_fast || of.quickly_for > of.cwnd);
        if (of.is_fast) {
            of.cwnd += newly * fast * of.scale;
        } else {
            of.gain += proportional_ * of.scale * payload() * newly * (of.target_ns - delay_ns) / reference_ns;
        }
    }

    void decrease(State& of) const {
        of.is_fast = false;
        of.quickly_for = 0.0;
        if (of.mean_ns > of.target_ns && now_ns() - of.cut_ns > of.base_ns) {
            of.cwnd *= std::max(1.0 - cut_ * (of.mean_ns - of.target_ns) / of.mean_ns, 1.0 - most_cut_);
            of.cut_ns = now_ns();
        }
    }

    void add_gain(State& of) const {
        of.cwnd += of.gain / of.cwnd;
        if (now_ns() - of.gained_ns >= of.first_ns) {
            of.cwnd += steady * of.scale * payload();
            of.gained_ns = now_ns();
        }
        of.gain = of.gained_for = 0.0;
    }

    void was_trimmed(SenderId sender, State& of) {
        of.to_ignore -= payload();
        count(of, of.first_ns);   // a queue that trims is about so long
        of.was_trimmed = true;
        if (!adapts(sender, of, true, true, 0.0)) {
            of.cwnd -= payload();
        }
    }

    // Quick adapt. Returns whether nothing else is to be done.
    bool adapts(SenderId sender, State& of, bool is_bad, bool is_loss, double delay_ns) const {
        bool is_done = of.to_ignore > 0.0 && is_bad;
        if (!is_done && now_ns() > of.adapts_ns) {
            const bool must = of.was_trimmed || is_loss || delay_ns > long_delay * of.target_ns;
            if (of.adapts_ns != 0.0 && must && of.came < through * most(of)) {
                of.cwnd = of.came;
                of.to_ignore = static_cast<double>(senders_[sender].under_way());
                of.was_trimmed = false;
                is_done = true;
            }
            of.came = 0.0;
            of.adapts_ns = now_ns() + of.base_ns + of.target_ns;
        }
        if (is_done) {
            of.gain = of.gained_for = 0.0;
        }
        return is_done;
    }

    // A packet leaves only if the window has room for the whole of it.
    void apply(SenderId sender, State& of) const {
        of.cwnd = std::clamp(of.cwnd, payload(), most(of));
        senders_.set_window(sender, static_cast<u64>(of.cwnd - payload()) + 1);
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
        {"proportional", "", 4.0, 0.0, "By which the window rises with what delay lacks of 12 us, in packets of a round trip."},
        {"fair", "", 5.0, 0.0, "Packets by which it rises above the target, without marks."},
        {"cut", "", 0.8, 0.0, "gamma: of a decrease."},
        {"most_cut", "", 0.5, 0.0, "The largest share of the window that is cut at once."},
        {"largest", "", 1.5, 0.01, "Bandwidth-delay products of the window at first and at most."},
    },
    RecoveryKind::selective_repeat,
});

}  // namespace

}  // namespace yantra::packet
