// NSCC's window on five traces of ACKs, each worked by hand from the equations of its file.
//
// Packets of 1,000 bytes, base round trip 8,000 ns at 100 Gb/s: a bandwidth-delay product of 100,000 bytes, so the window
// begins with 150,000. The target is 6,000 ns; the mean is the last delay (delay_gain 1).
// needs: network/packet/sender.cpp, network/packet/congestion_control.cpp
#include <memory>

#include "base/test.hpp"
#include "network/packet/congestion_control.hpp"

namespace {

using namespace yantra;
using test::check;

class Flow {
public:
    Flow() : settings_(settings_of()), senders_(settings_), sender_(senders_.add()) {
        packet::Sender& flow = senders_[sender_];
        flow.line_rate = flow.rate = 100000000000;
        flow.base_rtt = 8000 * senders_.ticks_per_ns;
        control_ = packet::find_scheme("nscc")->make(senders_);
        control_->begin(sender_);
        at(10000);
        ack(8000, 0, true);   // the least round trip
    }
    u64 window() const { return senders_[sender_].window_now; }
    void at(u64 ns) { senders_.wheel.advance_to(ns * senders_.ticks_per_ns); }
    void ack(u64 rtt_ns, u64 newly, bool is_marked, bool is_nack = false) {
        packet::Feedback feedback;
        feedback.newly = newly;
        feedback.is_marked = is_marked;
        feedback.is_nack = is_nack;
        feedback.stamp = senders_.now() - rtt_ns * senders_.ticks_per_ns;
        control_->acknowledged(sender_, feedback);
    }
    void silence() { control_->timed_out(sender_); }

private:
    static packet::Settings settings_of() {
        packet::Settings settings;
        settings.congestion_control = "nscc";
        settings.has_window = false;
        settings.recovery = packet::RecoveryKind::selective_repeat;
        settings.options = {{"delay_gain", 1.0}};
        return settings;
    }

    const packet::Settings settings_;
    packet::Senders senders_;
    packet::SenderId sender_;
    std::unique_ptr<packet::CongestionControl> control_;
};

}  // namespace

int main() {
    // 1. Mark and 12,000 ns of delay: 1 - 0.8 (12,000 - 6,000) / 12,000 = 0.6 is kept, 90,000; not again within 8,000 ns;
    //    then 54,000.
    Flow marked;
    check(marked.window() == 150000, "one and a half bandwidth-delay products", 0);
    marked.at(30000);
    marked.ack(20000, 1000, true);
    check(marked.window() == 90000, "a cut", 1);
    marked.at(37000);
    marked.ack(20000, 1000, true);
    check(marked.window() == 90000, "one in a round trip", 2);
    marked.at(38000);
    marked.ack(20000, 1000, true);
    check(marked.window() == 54000, "a cut", 3);
    // 2. No mark and no delay, a tenth of the window: 4 x 1,000 x 0.1 = 400. At half of the target: 2 x 1,000 x
    //    5,440 / 54,400 = 200. At most 150,000.
    marked.ack(8000, 5400, false);
    check(marked.window() == 54400, "no delay", 1);
    marked.ack(11000, 5440, false);
    check(marked.window() == 54600, "half of the target", 2);
    Flow full;
    full.ack(8000, 100000, false);
    check(full.window() == 150000, "the largest window", 3);
    // 3. No mark, 7,000 ns of delay: 1,000 x 5,460 / 54,600 = 100.
    marked.ack(15000, 5460, false);
    check(marked.window() == 54700, "above the target", 0);
    // 4. Mark and 3,000 ns of delay: another way is full, nothing changes.
    marked.ack(11000, 5470, true);
    check(marked.window() == 54700, "a mark below the target", 0);
    // 5. A loss halves, once in a round trip; so does the longest delay: 1 - 0.8 x 986,000 / 992,000 = 0.2048 is 0.5.
    //    Silence leaves a packet.
    Flow lossy;
    lossy.at(20000);
    lossy.ack(9000, 0, false, true);
    check(lossy.window() == 75000, "a loss", 1);
    lossy.ack(9000, 0, false, true);
    check(lossy.window() == 75000, "two losses in a round trip", 2);
    lossy.at(1100000);
    lossy.ack(1000000, 0, true);
    check(lossy.window() == 37500, "the most that is cut", 3);
    lossy.silence();
    check(lossy.window() == 1000, "silence", 4);
}
