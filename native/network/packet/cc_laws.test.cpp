// Every congestion control keeps the laws, and wrong ones are caught by name.
// needs: network/packet, network/packet/cc, network/packet/queue, network/flow/flow_run.cpp
#include "network/packet/cc_laws.hpp"

#include <algorithm>
#include <memory>
#include <vector>

#include "base/test.hpp"
#include "network/packet/presets.hpp"

namespace {

using namespace yantra;
using namespace yantra::packet;
using test::check;

enum class Fault : u8 { never_sends, too_fast, keeps_state, timer_without_end, favours_one, another_each_time,
                        never_grows, loses_its_window };

template <Fault fault>
class Wrong final : public CongestionControl {
public:
    using CongestionControl::CongestionControl;
    void begin(SenderId sender) override {
        const u64 line = senders_[sender].line_rate;
        if (fault == Fault::too_fast) {
            senders_.set_rate(sender, 2 * line);
        } else if (fault == Fault::favours_one && sender != SenderId(0)) {
            senders_.set_rate(sender, line / 100);
        } else if (fault == Fault::another_each_time) {
            static u64 made = 0;
            senders_.set_rate(sender, line - line / 100 * (++made / 3 % 7));
        } else if (fault == Fault::timer_without_end) {
            timer(sender, 0);
        }
    }
    void acknowledged(SenderId sender, const Feedback& feedback) override {
        const u64 rate = senders_[sender].rate;
        if (fault == Fault::never_sends) {
            senders_.set_rate(sender, 1 + rate / 2);
        } else if (fault == Fault::never_grows || fault == Fault::loses_its_window) {
            halve(sender, feedback);
        } else if (fault == Fault::keeps_state) {
            senders_.set_rate(sender, senders_[sender].line_rate / (1 + ++acks_ / 200));
        }
    }
    void timer(SenderId sender, u32) override { senders_.start_timer(TimerKind::of_scheme, sender, senders_.ticks(1000)); }

private:
    void halve(SenderId sender, const Feedback& feedback) {
        cut_until_.resize(std::max<std::size_t>(cut_until_.size(), sender.index() + std::size_t{1}));
        if (feedback.is_marked && feedback.acknowledged > cut_until_[sender]) {
            const u64 least = fault == Fault::never_grows ? senders_.settings.payload_bytes : 0;
            senders_.set_window(sender, std::max(senders_[sender].window_now / 2, least));
            cut_until_[sender] = senders_[sender].next;
        } else if (fault == Fault::loses_its_window && !feedback.is_marked) {
            senders_.set_window(sender, senders_[sender].window_now + feedback.newly);
        }
    }

    u64 acks_ = 0;
    IdVector<SenderId, u64> cut_until_;   // by sender
};

template <Fault fault>
void is_caught(const std::string& law) {
    const Scheme wrong = {"wrong_" + law, "", [](Senders& senders) -> std::unique_ptr<CongestionControl> {
                              return std::make_unique<Wrong<fault>>(senders);
                          }, TelemetryKind::none, false, {}};
    const RegisteredScheme registered(wrong);
    const std::string broken = broken_law(wrong);
    check(broken.rfind(law + ":", 0) == 0, (law + ", not " + broken).c_str(), 0);
}

class Calm final : public CongestionControl {
public:
    using CongestionControl::CongestionControl;
    void begin(SenderId) override {}
    void acknowledged(SenderId, const Feedback&) override {}
};

const RegisteredScheme registered_calm({.name = "calm",
                                        .help = "as it begins",
                                        .make = [](Senders& senders) -> std::unique_ptr<CongestionControl> {
                                            return std::make_unique<Calm>(senders);
                                        },
                                        .options = {},
                                        .beside = [](Settings& to, double gbps) {
                                            to.acks_first = true;
                                            to.limits = {{gbps, 1000.0 * gbps, 1000.0 * gbps, 1.0}};
                                        }});

void a_scheme_is_a_preset_of_its_own_name() {
    const Settings of = settings_of("calm", 200.0);
    check(of.congestion_control == "calm" && of.acks_first && of.limits[0].kmin_bytes == 200000.0, "its own preset", 0);
    check(preset_of("calm") == "calm", "its preset is that of its name", 0);
    u64 of_that_name = 0;
    for (const Preset& preset : presets()) {
        of_that_name += preset.name == "calm";
        check(preset.name != "nscc", "a second preset of what has one", 0);   // that is `uec`
    }
    check(of_that_name == 1, "one preset", of_that_name);
}

}  // namespace

int main() {
    a_scheme_is_a_preset_of_its_own_name();
    for (const Scheme& scheme : schemes()) {
        const std::string broken = broken_law(scheme);
        check(broken.empty(), (scheme.name + " " + broken).c_str(), 0);
    }
    is_caught<Fault::never_sends>("all_flows_end");
    is_caught<Fault::too_fast>("rates_are_of_the_line");
    is_caught<Fault::keeps_state>("a_place_begins_anew");
    is_caught<Fault::timer_without_end>("timers_end_with_their_flow");
    is_caught<Fault::favours_one>("nobody_starves");
    is_caught<Fault::another_each_time>("equal_runs_are_equal");
    is_caught<Fault::never_grows>("it_speeds_up_again");
    is_caught<Fault::loses_its_window>("a_window_stays_a_window");
}
