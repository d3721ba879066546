// NSCC's window on six traces of ACKs, each worked by hand from the equations of its file.
//
// Packets of 1,000 bytes, base round trip 8,000 ns at 100 Gb/s: a bandwidth-delay product of 100,000 bytes, so a is 2/3 and
// the window begins with 150,000. The target is 6,000 ns; the mean is the last delay (delay_gain 1).
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
    void sent(u64 bytes) { senders_[sender_].next = bytes; }
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

// A packet leaves only if there is room for the whole of it.
u64 window_of(double cwnd) { return static_cast<u64>(cwnd - 1000.0) + 1; }

}  // namespace

int main() {
    // 1. Mark and 12,000 ns of delay: 1 - 0.8 (12,000 - 6,000) / 12,000 = 0.6 is kept, 90,000, and 0.15 packets times a
    //    are added, as in each round trip; not again within 8,000 ns.
    Flow marked;
    check(marked.window() == window_of(150000), "one and a half bandwidth-delay products", 0);
    marked.at(30000);
    marked.ack(20000, 1000, true);
    check(marked.window() == window_of(90100), "a cut", 1);
    marked.at(38000);
    marked.ack(20000, 1000, true);
    check(marked.window() == window_of(90100), "one in a round trip", 2);
    marked.at(38001);
    marked.ack(20000, 1000, true);
    check(marked.window() == window_of(54160), "a cut", 3);
    // 2. No mark: 4 a 1,000 x 5,416 x (6,000 + 3,000) / 12,000 / 54,160 = 200, once 8 packets came.
    marked.ack(8000, 5416, false);
    check(marked.window() == window_of(54160), "few packets", 1);
    marked.ack(11000, 5416, false);
    check(marked.window() == window_of(54360), "no delay, and half of the target", 2);
    Flow full;
    full.ack(8000, 100000, false);
    check(full.window() == window_of(150000), "the largest window", 3);
    // 3. No mark, 7,000 ns of delay: 5 a 1,000 x 9,000 / 54,360 = 551.9.
    marked.ack(15000, 9000, false);
    check(marked.window() == window_of(54911.9), "above the target", 0);
    // 4. Mark and 3,000 ns of delay: another way is full, nothing changes.
    marked.ack(11000, 1000, true);
    check(marked.window() == window_of(54911.9), "a mark below the target", 0);
    // 5. Silence costs what was under way, and leaves a packet. Without delay for more than a window, 1,000 a / 4 = 166.7.
    Flow quiet;
    quiet.sent(3000);
    quiet.silence();
    check(quiet.window() == window_of(147000), "silence of few", 0);
    quiet.sent(200000);
    quiet.silence();
    check(quiet.window() == window_of(1000), "silence", 0);
    quiet.ack(8000, 1000, false);
    check(quiet.window() == window_of(1000), "a window without delay", 1);
    quiet.ack(8000, 1000, false);
    check(quiet.window() == window_of(1166.7), "more than a window without delay", 2);
    // 6. A trimmed packet costs its bytes; after a round trip and a target in which 3,000 bytes came, 3,000 are left.
    Flow trimmed;
    trimmed.at(20000);
    trimmed.ack(9000, 0, false, true);
    check(trimmed.window() == window_of(149000), "a trimmed packet", 1);
    trimmed.ack(11000, 3000, true);
    check(trimmed.window() == window_of(149100), "what came", 2);
    trimmed.at(25000);
    trimmed.ack(9000, 0, false, true);
    check(trimmed.window() == window_of(3000), "what came in that time", 3);
}
