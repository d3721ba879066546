// NewReno on five traces of ACKs, each worked by hand from RFC 5681, 6582 and 6298.
//
// Packets of 1,000 bytes; the first window is min(10 MSS, max(2 MSS, 14,600)) = 10,000 bytes.
// needs: network/packet/sender.cpp, network/packet/congestion_control.cpp, network/packet/tcp.cpp
#include <vector>

#include "network/packet/tcp_trace.hpp"

using namespace yantra;
using packet::is_near;
using packet::TcpTrace;
using test::check;

namespace {

void check_losses() {
    // 1. Slow start: an ACK adds what it acknowledges, up to a packet.
    TcpTrace slow("newreno");
    check(slow.window() == 10000, "the first window", 0);
    slow.sends_to(10000);
    slow.at(1);
    slow.ack(1000, 100);
    check(slow.cwnd() == 11000, "one packet", 0);
    slow.ack(4000, 100);
    check(slow.cwnd() == 12000, "three at once", 0);
    slow.ack(4500, 100);
    check(slow.cwnd() == 12500 && slow.window() == 12000, "half of one", 0);
    // 2. Fast retransmit and a full ACK: of 10,000 in flight ssthresh is 5,000, the window 5,000 + 3 x 1,000, another
    //    duplicate adds 1,000. All acknowledged with 1,000 in flight: min(5,000, 1,000 + 1,000). Slow start to 5,000,
    //    then 1,000^2 / cwnd each: 5,200, 5,392.31, 5,577.76.
    TcpTrace fast("newreno");
    fast.sends_to(10000);
    fast.at(1);
    fast.duplicates(2);
    check(fast.cwnd() == 10000 && fast.resent().empty(), "two duplicates say nothing", 0);
    fast.duplicates(1);
    check(fast.cwnd() == 8000 && fast.resent() == std::vector<u64>{0}, "the third", 0);
    fast.duplicates(1);
    check(fast.cwnd() == 9000 && fast.resent().empty(), "the fourth", 0);
    fast.sends_to(11000);
    fast.ack(10000, 100);
    check(fast.cwnd() == 2000, "a full ACK", 0);
    fast.sends_to(30000);
    for (u64 at = 1; at <= 3; ++at) {
        fast.ack(10000 + at * 1000, 100);
    }
    check(fast.cwnd() == 5000, "slow start up to ssthresh", 0);
    fast.ack(14000, 100);
    check(is_near(fast.cwnd(), 5200), "avoidance", 1);
    fast.ack(15000, 100);
    check(is_near(fast.cwnd(), 5392.31), "avoidance", 2);
    fast.ack(16000, 100);
    check(is_near(fast.cwnd(), 5577.76), "avoidance", 3);
    // 3. Partial ACKs: of 20,000 in flight 10,000 and 13,000. 5,000 acknowledged: the hole behind them is sent again,
    //    13,000 - 5,000 + 1,000 = 9,000; then 9,000 - 3,000 + 1,000 = 7,000. A full one with 8,000 in flight: 9,000.
    TcpTrace partial("newreno");
    partial.sends_to(20000);
    partial.at(1);
    partial.duplicates(3);
    check(partial.cwnd() == 13000 && partial.resent() == std::vector<u64>{0}, "a loss", 0);
    partial.ack(5000, 100);
    check(partial.cwnd() == 9000 && partial.resent() == std::vector<u64>{5000}, "a partial ACK", 1);
    partial.ack(8000, 100);
    check(partial.cwnd() == 7000 && partial.resent() == std::vector<u64>{8000}, "a partial ACK", 2);
    partial.sends_to(28000);
    partial.ack(20000, 100);
    check(partial.cwnd() == 9000 && partial.resent().empty(), "a full ACK", 3);
}

void check_silence() {
    // 4. Silence: of 16,000 in flight 8,000 are left as ssthresh and the window is 1,000; silence after silence cuts no
    //    more. Duplicates of what was sent before are no loss. Seven ACKs to 8,000, then 1,000^2 / 8,000 = 125.
    TcpTrace silent("newreno");
    silent.sends_to(16000);
    silent.at(1);
    silent.silence();
    check(silent.cwnd() == 1000, "silence", 1);
    silent.sends_to(1000);
    silent.silence();
    silent.progress();
    silent.sends_to(4000);
    silent.duplicates(3);
    check(silent.cwnd() == 1000 && silent.resent().empty(), "old duplicates", 0);
    silent.sends_to(40000);
    for (u64 at = 1; at <= 7; ++at) {
        silent.ack(at * 1000, 100);
    }
    check(silent.cwnd() == 8000, "slow start after silence", 0);
    silent.ack(8000, 100);
    check(silent.cwnd() == 8125, "avoidance after silence", 0);
    // 5. The timer. 100 us: SRTT 100, RTTVAR 50, 300 us. 180 us: RTTVAR 0.75 x 50 + 0.25 x 80 = 57.5, SRTT 110, 340 us.
    //    110 us: RTTVAR 43.125, SRTT 110, 282.5 us; never less than what is set.
    TcpTrace timed("newreno", {{"least_silence", 1.0}});
    check(timed.silence_us() == 1e6, "a second at first", 0);
    timed.opened(100);
    check(is_near(timed.silence_us(), 300), "after the first round trip", 1);
    timed.sends_to(10000);
    timed.at(1);
    timed.ack(1000, 180);
    check(is_near(timed.silence_us(), 340), "after a longer one", 2);
    timed.ack(2000, 110);
    check(is_near(timed.silence_us(), 282.5), "after the third", 3);
    TcpTrace floored("newreno", {{"least_silence", 5e6}});
    floored.opened(100);
    check(is_near(floored.silence_us(), 5000), "the least", 4);
}

}  // namespace

int main() {
    check_losses();
    check_silence();
    // The law: sqrt(3 / (2 p)) packets on average, within 15 % and two packets, at a round trip of
    // 100 us: each full ACK here finds nothing in flight, so slow start takes some round trips.
    for (const u64 packets : {200, 1000, 5000}) {
        TcpTrace law("newreno");
        const double found = packet::mean_window(law, packets, 100);
        const double expected = std::sqrt(1.5 * static_cast<double>(packets));
        check(std::abs(found - expected) < 0.15 * expected + 2, "the window goes with the root of losses", packets);
    }
}
