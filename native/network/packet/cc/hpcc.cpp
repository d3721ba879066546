// HPCC (Li et al., SIGCOMM 2019, algorithm 1), for the largest hop: u = rate sent / line +
// min(queue now, queue before) / (line T); U = (U (T - tau) + u tau) / T. At or above the target,
// or after some additive steps: r = Rc U_t / U + AI; else r = Rc + AI. Rc moves once per round
// trip. With `per_hop`, each hop has its own U and Rc.
#include <algorithm>
#include <vector>

#include "network/packet/congestion_control.hpp"

namespace yantra::packet {

namespace {

constexpr u32 narrow_hops = 5;

class Hpcc final : public CongestionControl {
public:
    explicit Hpcc(Senders& senders)
        : CongestionControl(senders),
          target_(option("target_utilisation", 0.95)),
          steps_(static_cast<i32>(option("additive_steps", 0.0))),
          additive_(static_cast<u64>(option("additive_increase", 5e7))),
          least_(static_cast<u64>(option("least_rate", 1e8))),
          reacts_fast_(option("fast_react", 1.0) != 0.0),
          per_hop_(option("per_hop", 0.0) != 0.0),
          samples_(option("sample_feedback", 0.0) != 0.0),
          multiple_(static_cast<u64>(option("telemetry_units", 1.0))),
          is_narrow_(senders.settings.has(Quirk::narrow_telemetry)) {}

    // 8 bytes a hop and a count, at least five hops.
    u32 header_bytes(u32 hops) const override { return 2 + 8 * std::max(hops, narrow_hops); }

    void begin(SenderId sender) override {
        if (!states_.has(sender)) {
            states_.resize(sender.index() + std::size_t{1});
        }
        State& of = states_[sender];
        std::vector<Hop> hops = std::move(of.hops);
        hops.clear();
        of = State{};
        of.hops = std::move(hops);
        of.rate = senders_[sender].line_rate;
    }

    void acknowledged(SenderId sender, const Feedback& feedback) override {
        State& of = states_[sender];
        const bool is_full = feedback.acknowledged > of.mark;
        if (!is_full && !reacts_fast_) {
            return;
        }
        const u64 next = senders_[sender].next;
        if (of.mark == 0) {
            of.mark = next;
            of.hops.resize(std::max(of.hops.size(), feedback.hops.size()));
            for (std::size_t hop = 0; hop < feedback.hops.size(); ++hop) {
                of.hops[hop].last = feedback.hops[hop];
                of.hops[hop].rate = of.rate;
            }
            return;
        }
        if (!is_narrow_ || feedback.hop_count <= narrow_hops) {
            of.hops.resize(std::max(of.hops.size(), feedback.hops.size()));
            per_hop_ ? react_per_hop(sender, of, feedback, is_full) : react(sender, of, feedback, is_full);
        }
        if (is_full) {
            of.mark = std::max(of.mark, next);
        }
    }

private:
    struct Hop {
        Telemetry last;
        double utilisation = 1.0;
        u64 rate = 0;
        i32 steps = 0;
    };
    struct State {
        u64 rate = 0;          // Rc
        double utilisation = 1.0;
        i32 steps = 0;
        u64 mark = 0;          // byte whose ACK ends a round trip
        std::vector<Hop> hops;
    };
    struct Step {
        u64 rate = 0;
        i32 steps = 0;
    };

    double option(const char* name, double fallback) const { return senders_.settings.option(name, fallback); }

    u64 difference(u64 now, u64 before, u64 unit, u32 bits) const {
        if (!is_narrow_) {
            return now - before;
        }
        const u64 mask = (u64{1} << bits) - 1;
        return ((((now / unit) & mask) - ((before / unit) & mask)) & mask) * unit;
    }
    u64 queue_of(const Telemetry& hop) const {
        return is_narrow_ ? (hop.queue_bytes / (80 * multiple_) & 0x1ffff) * 80 * multiple_ : hop.queue_bytes;
    }

    double use_of(const Sender& flow, const Telemetry& now, const Telemetry& before, double& over_ns) const {
        over_ns = senders_.ns(difference(now.tick, before.tick, 1, 24));
        const double duration = over_ns * 1e-9;
        const u64 sent = difference(now.sent_bytes, before.sent_bytes, 128 * multiple_, 20);
        const double line = static_cast<double>(senders_.line_rate_of(now.link));
        const double rate = static_cast<double>(sent * 8) / duration;
        const double queue = static_cast<double>(std::min(queue_of(now), queue_of(before)));
        const double of_queue =
            queue * static_cast<double>(flow.line_rate) / line / static_cast<double>(flow.window);
        return rate / line + of_queue;
    }

    Step next(u64 rate, i32 steps, double utilisation, u64 most) const {
        const double of_target = utilisation / target_;
        Step step;
        if (of_target >= 1 || steps >= steps_) {
            const double scaled = static_cast<double>(rate) / of_target;
            step.rate = scaled < 1e18 ? static_cast<u64>(scaled) + additive_ : most;
        } else {
            step.rate = rate + additive_;
            step.steps = steps + 1;
        }
        step.rate = std::min(std::max(step.rate, least_), most);
        return step;
    }

    void react(SenderId sender, State& of, const Feedback& feedback, bool is_full) {
        const Sender& flow = senders_[sender];
        double largest = 0.0;
        double tau = 0.0;
        bool any = false;
        for (std::size_t hop = 0; hop < feedback.hops.size(); ++hop) {
            const Telemetry& now = feedback.hops[hop];
            if (samples_ && !is_full && queue_of(now) == 0) {
                continue;
            }
            if (of.hops[hop].last.link != now.link) {   // it takes another way now
                of.hops[hop].last = now;
                continue;
            }
            any = true;
            double over_ns = 0.0;
            const double use = use_of(flow, now, of.hops[hop].last, over_ns);
            if (use > largest) {
                largest = use;
                tau = over_ns;
            }
            of.hops[hop].last = now;
        }
        if (!any) {
            return;
        }
        const double rtt = senders_.ns(flow.base_rtt);
        tau = std::min(tau, rtt);
        of.utilisation = (of.utilisation * (rtt - tau) + largest * tau) / rtt;
        const Step step = next(of.rate, of.steps, of.utilisation, flow.line_rate);
        senders_.change_rate(sender, step.rate);
        if (is_full) {
            of.rate = step.rate;
            of.steps = step.steps;
        }
    }

    void react_per_hop(SenderId sender, State& of, const Feedback& feedback, bool is_full) {
        const Sender& flow = senders_[sender];
        const double rtt = senders_.ns(flow.base_rtt);
        u64 least = flow.line_rate;
        bool any = false;
        for (std::size_t at = 0; at < feedback.hops.size(); ++at) {
            const Telemetry& now = feedback.hops[at];
            Hop& hop = of.hops[at];
            if (samples_ && !is_full && queue_of(now) == 0) {
                least = std::min(least, hop.rate);
                continue;
            }
            if (hop.last.link != now.link) {   // it takes another way now
                hop.last = now;
                hop.rate = of.rate;
                continue;
            }
            any = true;
            double tau = 0.0;
            const double use = use_of(flow, now, hop.last, tau);
            tau = std::min(tau, rtt);
            hop.utilisation = (hop.utilisation * (rtt - tau) + use * tau) / rtt;
            hop.last = now;
            const Step step = next(hop.rate, hop.steps, hop.utilisation, flow.line_rate);
            least = std::min(least, step.rate);
            if (is_full) {
                hop.rate = step.rate;
                hop.steps = step.steps;
            }
        }
        if (any) {
            senders_.change_rate(sender, least);
            of.rate = is_full ? least : of.rate;
        }
    }

    double target_;
    i32 steps_;
    u64 additive_;
    u64 least_;
    bool reacts_fast_;
    bool per_hop_;
    bool samples_;
    u64 multiple_;
    bool is_narrow_;
    IdVector<SenderId, State> states_;
};

const RegisteredScheme registered_hpcc({
    "hpcc",
    "the rate follows the utilisation that switches write in each packet",
    [](Senders& senders) -> std::unique_ptr<CongestionControl> { return std::make_unique<Hpcc>(senders); },
    TelemetryKind::hops,
    true,
    {
        {"target_utilisation", "", 0.95, 0.01, "Of the busiest hop."},
        {"additive_steps", "", 0.0, 0.0, "Round trips of additive increase before a multiplicative one."},
        {"additive_increase", "bit/s", 5e7, 0.0, "By which the rate rises."},
        {"least_rate", "bit/s", 1e8, 1.0, "Below which no flow goes."},
        {"fast_react", "", 1.0, 0.0, "1: every ACK changes the rate, not only one per round trip."},
        {"per_hop", "", 0.0, 0.0, "1: each hop has a rate of its own, and the smallest counts."},
        {"sample_feedback", "", 0.0, 0.0, "1: between round trips, hops without a queue are left out."},
        {"telemetry_units", "", 1.0, 1.0, "By which the units of narrow telemetry are multiplied."},
    },
});

}  // namespace

}  // namespace yantra::packet
