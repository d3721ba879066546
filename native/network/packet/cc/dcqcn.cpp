// DCQCN (Zhu et al., SIGCOMM 2015): marks cut the rate to r (1 - alpha / 2), which then goes half
// way to the target each time (section 5). With `by_timer`, as in NICs and the ns-3 fork, cuts come
// with a timer and no byte counter; without, as published, at once, at most once per
// `cnp_interval`, `cnp_delay` after the marked packet.
#include <algorithm>
#include <vector>

#include "network/packet/congestion_control.hpp"

namespace yantra::packet {

namespace {

enum DcqcnTimer : u32 { dcqcn_alpha, dcqcn_decrease, dcqcn_increase, dcqcn_cnp };

class Dcqcn final : public CongestionControl {
public:
    explicit Dcqcn(Senders& senders)
        : CongestionControl(senders),
          alpha_interval_(senders.ticks(option("alpha_interval", 1000.0))),
          decrease_interval_(senders.ticks(option("decrease_interval", 4000.0))),
          increase_interval_(senders.ticks(option("increase_interval", 900000.0))),
          cnp_interval_(senders.ticks(option("cnp_interval", 0.0))),
          cnp_delay_(senders.ticks(option("cnp_delay", 0.0))),
          gain_(option("gain", 1.0 / 256)),
          fast_steps_(static_cast<u32>(option("fast_recovery_steps", 1.0))),
          additive_(static_cast<u64>(option("additive_increase", 5e7))),
          hyper_(static_cast<u64>(option("hyper_increase", 1e8))),
          least_(static_cast<u64>(option("least_rate", 1e8))),
          counter_bytes_(static_cast<u64>(option("byte_counter", 0.0))),
          clamps_(option("clamps_target", 0.0) != 0.0),
          by_timer_(option("by_timer", 1.0) != 0.0) {}

    void begin(SenderId sender) override {
        if (!states_.has(sender)) {
            states_.resize(sender.index() + std::size_t{1});
        }
        states_[sender] = State{};
        states_[sender].target = senders_[sender].line_rate;
    }

    bool tells_mark(SenderId sender, bool is_marked) override {
        if (!is_marked || cnp_interval_ == 0) {
            return is_marked;
        }
        State& of = states_[sender];
        if (of.has_told && senders_.now() - of.told < cnp_interval_) {
            return false;
        }
        of.has_told = true;
        of.told = senders_.now();
        return true;
    }

    void acknowledged(SenderId sender, const Feedback& feedback) override {
        if (senders_[sender].has_ended) {
            return;
        }
        State& of = states_[sender];
        if (feedback.is_marked && cnp_delay_ > 0) {
            of.cnps.push_back(senders_.now() + cnp_delay_);
            await_cnp(sender, of);
        } else if (feedback.is_marked) {
            take_cnp(sender, of);
        }
        if (counter_bytes_ > 0 && !of.is_first) {
            of.counted += feedback.newly;
            if (of.counted >= counter_bytes_) {
                of.counted -= counter_bytes_;
                ++of.byte_stage;
                increase(sender, of, std::max(of.time_stage, of.byte_stage) - 1,
                         std::min(of.time_stage, of.byte_stage) > fast_steps_);
            }
        }
    }

    void timer(SenderId sender, u32 own) override {
        State& of = states_[sender];
        if (own == dcqcn_alpha) {
            of.alpha = (1 - gain_) * of.alpha + (of.alpha_marked ? gain_ : 0.0);
            of.alpha_marked = false;
            of.timers[own] = start(sender, own, alpha_interval_);
        } else if (own == dcqcn_decrease) {
            of.timers[own] = start(sender, own, decrease_interval_);
            if (of.cut_marked) {
                cut(sender, of, clamps_ || of.time_stage > 0);
            }
        } else if (own == dcqcn_cnp) {
            of.timers[own] = none;
            of.cnps.erase(of.cnps.begin());
            take_cnp(sender, of);
            await_cnp(sender, of);
        } else {
            of.timers[own] = start(sender, own, increase_interval_);
            if (by_timer_) {
                increase(sender, of, of.time_stage, of.time_stage > fast_steps_);
                ++of.time_stage;
            } else {
                ++of.time_stage;
                increase(sender, of, std::max(of.time_stage, of.byte_stage) - 1,
                         std::min(of.time_stage, of.byte_stage) > fast_steps_);
            }
        }
    }

    void end(SenderId sender) override {
        for (u32& timer : states_[sender].timers) {
            senders_.stop_timer(timer);
        }
    }

private:
    struct State {
        u64 target = 0;
        double alpha = 1.0;
        u32 time_stage = 0;
        u32 byte_stage = 0;
        u64 counted = 0;
        u64 told = 0;
        u32 timers[4] = {none, none, none, none};
        std::vector<u64> cnps;   // ticks at which those under way arrive
        bool is_first = true;
        bool alpha_marked = false;
        bool cut_marked = false;
        bool has_told = false;
    };

    double option(const char* name, double fallback) const { return senders_.settings.option(name, fallback); }
    u32 start(SenderId sender, u32 own, u64 delay) {
        return senders_.start_timer(TimerKind::of_scheme, sender, delay, own);
    }

    void await_cnp(SenderId sender, State& of) {
        if (of.timers[dcqcn_cnp] == none && !of.cnps.empty()) {
            of.timers[dcqcn_cnp] = start(sender, dcqcn_cnp, of.cnps.front() - senders_.now());
        }
    }

    void take_cnp(SenderId sender, State& of) { by_timer_ ? notice(sender, of) : cut_at_once(sender, of); }

    void notice(SenderId sender, State& of) {
        of.alpha_marked = true;
        of.cut_marked = true;
        if (of.is_first) {
            of.alpha = 1.0;
            of.alpha_marked = false;
            of.timers[dcqcn_alpha] = start(sender, dcqcn_alpha, alpha_interval_);
            of.timers[dcqcn_decrease] = start(sender, dcqcn_decrease, decrease_interval_ + senders_.ticks_per_ns);
            of.target = senders_[sender].rate;
            of.is_first = false;
        }
    }

    // As published, equation 1.
    void cut_at_once(SenderId sender, State& of) {
        if (of.is_first) {
            of.is_first = false;
        } else {
            senders_.stop_timer(of.timers[dcqcn_alpha]);
        }
        of.timers[dcqcn_alpha] = start(sender, dcqcn_alpha, alpha_interval_);
        cut(sender, of, true);
        of.alpha = (1 - gain_) * of.alpha + gain_;
        of.byte_stage = 0;
        of.counted = 0;
    }

    void cut(SenderId sender, State& of, bool moves_target) {
        const u64 rate = senders_[sender].rate;
        if (moves_target) {
            of.target = rate;
        }
        senders_.set_rate(sender, std::max(least_, static_cast<u64>(static_cast<double>(rate) * (1 - of.alpha / 2))));
        of.time_stage = 0;
        of.cut_marked = false;
        senders_.stop_timer(of.timers[dcqcn_increase]);
        of.timers[dcqcn_increase] = start(sender, dcqcn_increase, increase_interval_);
    }

    void increase(SenderId sender, State& of, u32 stage, bool is_hyper) {
        const Sender& flow = senders_[sender];
        if (is_hyper) {
            of.target = std::min(flow.line_rate, of.target + hyper_);
        } else if (stage >= fast_steps_) {
            of.target = std::min(flow.line_rate, of.target + additive_);
        }
        senders_.set_rate(sender, flow.rate / 2 + of.target / 2);
    }

    u64 alpha_interval_;
    u64 decrease_interval_;
    u64 increase_interval_;
    u64 cnp_interval_;
    u64 cnp_delay_;
    double gain_;
    u32 fast_steps_;
    u64 additive_;
    u64 hyper_;
    u64 least_;
    u64 counter_bytes_;
    bool clamps_;
    bool by_timer_;
    IdVector<SenderId, State> states_;
};

const RegisteredScheme registered_dcqcn({
    "dcqcn",
    "the rate is cut by marks and recovers by timers",
    [](Senders& senders) -> std::unique_ptr<CongestionControl> { return std::make_unique<Dcqcn>(senders); },
    TelemetryKind::none,
    false,
    {
        {"alpha_interval", "ns", 1000.0, 1.0, "Between updates of alpha."},
        {"decrease_interval", "ns", 4000.0, 1.0, "Between cuts, in the form of NICs."},
        {"increase_interval", "ns", 900000.0, 1.0, "Between increases."},
        {"cnp_interval", "ns", 0.0, 0.0, "The least between two marks that a receiver tells of; 0 tells of all."},
        {"cnp_delay", "ns", 0.0, 0.0, "From a marked packet to the cut, beyond what its ACK takes."},
        {"gain", "", 1.0 / 256, 0.0, "g of alpha's moving average."},
        {"fast_recovery_steps", "", 1.0, 0.0, "F: increases before the target rises."},
        {"additive_increase", "bit/s", 5e7, 0.0, "By which the target rises."},
        {"hyper_increase", "bit/s", 1e8, 0.0, "By which it rises later on."},
        {"least_rate", "bit/s", 1e8, 1.0, "Below which no flow is cut."},
        {"byte_counter", "B", 0.0, 0.0, "Bytes between increases besides the timer's; 0 for none."},
        {"clamps_target", "", 0.0, 0.0, "1: every cut moves the target, the first in a row included."},
        {"by_timer", "", 1.0, 0.0, "1: the form of NICs; 0: as published."},
    },
    {},
    false,
    [](const Settings& settings) { return settings.option("cnp_interval", 0.0) > 0.0; },
});

}  // namespace

}  // namespace yantra::packet
