// Swift's window on five traces of delays, each worked by hand from the equations of its file, with the numbers beside.
//
// Packets of 1,000 bytes, base round trip 8,000 ns at 100 Gb/s: the window begins with 100 packets. base_target 10,000 ns,
// flow_range 5 (50,000 ns) from 0.25 to 100 packets: a = 50,000 / (2 - 0.1) = 26,315.79, b = -2,631.579.
// needs: network/packet/sender.cpp, network/packet/congestion_control.cpp
#include <cmath>
#include <memory>
#include <vector>

#include "base/test.hpp"
#include "network/packet/congestion_control.hpp"

namespace {

using namespace yantra;
using test::check;

struct Ack {
    u64 at_ns;
    u64 delay_ns;
    u64 newly;            // bytes
    bool is_nack = false;
};

struct Step {
    Ack ack;
    u64 window;
    u64 rate = 100000000000;
};

packet::Settings settings_of() {
    packet::Settings settings;
    settings.congestion_control = "swift";
    settings.has_window = false;
    settings.options = {{"base_target", 10000.0}, {"flow_range_from", 0.25}};
    return settings;
}

class Flow {
public:
    explicit Flow(u64 base_rtt_ns = 8000, packet::Settings settings = settings_of())
        : settings_(std::move(settings)), senders_(settings_), sender_(senders_.add()) {
        packet::Sender& flow = senders_[sender_];
        flow.line_rate = flow.rate = 100000000000;
        flow.base_rtt = base_rtt_ns * senders_.ticks_per_ns;
        flow.data_links = 2;
        control_ = packet::find_scheme("swift")->make(senders_);
        control_->begin(sender_);
    }
    u64 window() const { return senders_[sender_].window_now; }
    u64 rate() const { return senders_[sender_].rate; }
    void acknowledged(const Ack& ack) {
        senders_.wheel.advance_to(ack.at_ns * senders_.ticks_per_ns);
        packet::Feedback feedback;
        feedback.newly = ack.newly;
        feedback.is_nack = ack.is_nack;
        feedback.stamp = (ack.at_ns - ack.delay_ns) * senders_.ticks_per_ns;
        control_->acknowledged(sender_, feedback);
    }
    void timed_out(u64 at_ns) {
        senders_.wheel.advance_to(at_ns * senders_.ticks_per_ns);
        control_->timed_out(sender_);
    }

private:
    const packet::Settings settings_;
    packet::Senders senders_;
    packet::SenderId sender_;
    std::unique_ptr<packet::CongestionControl> control_;
};

void follow(Flow flow_of(), const std::vector<Step>& steps, const char* what) {
    Flow flow = flow_of();
    for (std::size_t at = 0; at < steps.size(); ++at) {
        flow.acknowledged(steps[at].ack);
        check(flow.window() == steps[at].window, what, at);
        check(flow.rate() == steps[at].rate, what, at);
    }
}

}  // namespace

int main() {
    // 1. Below the target of 10,000 ns: 50 packets acknowledged add 50 / 100, and again 50 / 100.5: 100.5, 100.9975; 1
    //    packet more adds 0.0099: 101.0074.
    check(Flow().window() == 100000, "a bandwidth-delay product at first", 0);
    follow([] { return Flow(); }, {{{9000, 9000, 50000}, 100000}, {{9100, 9000, 50000}, 100000}, {{9200, 9000, 1000}, 101000}},
           "additive increase");
    // 2. Above it: 1 - 0.8 (20,000 - 10,000) / 20,000 = 0.6: 60 packets. Within a round trip of 20,000 ns no other cut; then
    //    the target of 60 packets is 10,000 + 26,315.79 / 7.746 - 2,631.58 = 10,765.8, and 0.6306 is kept: 37.8.
    follow([] { return Flow(); }, {{{20000, 20000, 1000}, 60000}, {{30000, 20000, 1000}, 60000}, {{40000, 20000, 1000}, 37000}},
           "one decrease in a round trip");
    // 3. Never more than half at once: 1 - 0.8 (990,000 / 1,000,000) = 0.208 is 0.5: 50, 25 a round trip later.
    follow([] { return Flow(); }, {{{1000000, 1000000, 1000}, 50000}, {{2000000, 1000000, 1000}, 25000}}, "the most that is cut");
    // 4. A loss halves, whatever the delay, once in a round trip; timeouts too, and the fifth in a row leaves the least:
    //    0.001 packets, one packet of 8,000 bits every 9,000 ns / 0.001: 888,888 bit/s.
    Flow lossy;
    lossy.acknowledged({9000, 9000, 0, true});
    check(lossy.window() == 50000, "a loss", 0);
    lossy.acknowledged({10000, 9000, 0, true});
    check(lossy.window() == 50000, "two losses in a round trip", 0);
    for (u64 at = 1; at <= 4; ++at) {
        lossy.timed_out(at * 1000000);
    }
    check(lossy.window() == 3000, "four timeouts: 3.125 packets", 0);
    lossy.timed_out(5000000);
    check(lossy.window() == 1000 && lossy.rate() == 888888, "the fifth", 0);
    // 5. Below a packet: a base round trip of 80 ns is 1 packet. 45,000 ns is above 10,000 + 26,315.79 - 2,631.58 =
    //    33,684.2, so 1 - 0.8 (45,000 - 33,684.2) / 45,000 = 0.79883 is kept: 8,000 bits in 45,000 ns / 0.79883 are
    //    142,014,294 bit/s. Then 20,000 ns is below the target: 1 packet more, at the rate of the line.
    Flow small(80);
    check(small.window() == 1000, "one packet at first", 0);
    small.acknowledged({45000, 45000, 1000});
    const double kept = 1.0 - 0.8 * (45000.0 - (10000.0 + 50000.0 / 1.9 - 5000.0 / 1.9)) / 45000.0;
    check(std::abs(kept - 0.79883) < 1e-5, "what is kept", 0);
    check(small.window() == 1000 && small.rate() == static_cast<u64>(kept * 8000.0 / 45e-6), "paced below a packet", 0);
    small.acknowledged({100000, 20000, 1000});
    check(small.window() == 1000 && small.rate() == 100000000000, "one packet more", 0);
}
