// The congestion controls that there are keep the laws, and wrong ones are caught by the name of the law.
// needs: network/packet, network/packet/cc, network/packet/queue, network/flow/flow_run.cpp
#include "network/packet/cc_laws.hpp"

#include "base/test.hpp"

namespace {

using namespace yantra;
using namespace yantra::packet;
using test::check;

enum class Fault : u8 { never_sends, too_fast, keeps_state, timer_without_end, favours_one, another_each_time };

template <Fault fault>
class Wrong final : public CongestionControl {
public:
    using CongestionControl::CongestionControl;
    void begin(u32 sender) override {
        const u64 line = senders_[sender].line_rate;
        if (fault == Fault::too_fast) {
            senders_.set_rate(sender, 2 * line);
        } else if (fault == Fault::favours_one && sender > 0) {
            senders_.set_rate(sender, line / 100);
        } else if (fault == Fault::another_each_time) {
            static u64 made = 0;
            senders_.set_rate(sender, line - line / 100 * (++made / 3 % 7));
        } else if (fault == Fault::timer_without_end) {
            timer(sender, 0);
        }
    }
    void acknowledged(u32 sender, const Feedback&) override {
        const u64 rate = senders_[sender].rate;
        if (fault == Fault::never_sends) {
            senders_.set_rate(sender, 1 + rate / 2);
        } else if (fault == Fault::keeps_state) {
            senders_.set_rate(sender, senders_[sender].line_rate / (1 + ++acks_ / 200));
        }
    }
    void timer(u32 sender, u32) override { senders_.start_timer(TimerKind::of_scheme, sender, senders_.ticks(1000)); }

private:
    u64 acks_ = 0;
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

}  // namespace

int main() {
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
}
