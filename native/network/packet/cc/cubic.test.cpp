// CUBIC on five traces of ACKs, each worked by hand from RFC 9438.
//
// Packets of 1,000 bytes, C = 0.4, beta = 0.7, alpha = 3 (0.3) / 1.7 = 0.529412. Windows below are in packets.
// needs: network/packet/sender.cpp, network/packet/congestion_control.cpp, network/packet/tcp.cpp
#include "network/packet/tcp_trace.hpp"

using namespace yantra;
using packet::is_near;
using packet::TcpTrace;
using test::check;

namespace {

void lose(TcpTrace& trace, u64 from, u64 packets) {
    trace.sends_to(from + packets * 1000);
    trace.duplicates(3);
    trace.resent();
    trace.sends_to(from + 2 * packets * 1000);
    trace.ack(from + packets * 1000 + 1000, 100000);
    trace.sends_to(from + 100 * packets * 1000);
}

void check_losses() {
    // 1. A loss of 100 leaves 70; W_max 100, K = cbrt(30 / 0.4) = 4.217163 s. At once W(0) = 70 is below
    //    W_est = 70 + 0.529412 / 70 = 70.007563. 2 s later W(2) = 95.6405 is above; the target is
    //    W(2.1) = 0.4 (-2.117163)^3 + 100 = 96.2040, which adds (96.2040 - 70.0076) / 70.0076 = 0.374194.
    TcpTrace loss("cubic", {{"first_window", 100000.0}});
    loss.at(1);
    lose(loss, 0, 100);
    check(loss.cwnd() == 70000, "what a loss leaves", 0);
    loss.ack(102000, 100000);
    check(is_near(loss.cwnd(), 70007.563), "Reno-friendly at first", 0);
    loss.at(3);
    loss.ack(103000, 100000);
    check(std::abs(loss.cwnd() - 70381.76) < 0.5, "towards W_max", 0);
    // 2. Beyond K: at 8 s the target W(8.1) = 0.4 (3.882837)^3 + 100 = 123.4 is above 1.5 cwnd: half a packet is added.
    loss.at(9);
    loss.ack(104000, 100000);
    check(std::abs(loss.cwnd() - 70881.76) < 0.5, "at most half a packet for an ACK", 0);
    // 3. Fast convergence: a loss at 70 below W_max = 100 makes it 70 x 0.85 = 59.5; 49 are left, K = cbrt(10.5 / 0.4)
    //    = 2.971990 s. 2.871990 s later the target, 0.1 s on, is W_max: (59.5 - cwnd) / cwnd is added to cwnd, which an ACK
    //    at once had made 49 + 0.529412 / 49 = 49.010804: 0.214018.
    TcpTrace twice("cubic", {{"first_window", 100000.0}});
    twice.at(1);
    lose(twice, 0, 100);
    lose(twice, 101000, 70);
    check(is_near(twice.cwnd(), 49000), "what a second loss leaves", 0);
    twice.ack(173000, 100000);
    check(is_near(twice.cwnd(), 49010.804), "Reno-friendly again", 0);
    twice.at(3.871990);
    twice.ack(174000, 100000);
    check(std::abs(twice.cwnd() - 49224.82) < 1.0, "the new W_max", 0);
}

void check_silence() {
    // 4. Silence: of 20 in flight ssthresh is 14, and 13 ACKs bring the window there from 1. Then K = 0 and W_max = 14:
    //    an ACK at once adds alpha / 14 = 0.037815; 10 s later W(10.1) = 14 + 0.4 x 1030.301 is above 1.5 cwnd.
    TcpTrace silent("cubic", {{"first_window", 20000.0}});
    silent.at(1);
    silent.sends_to(20000);
    silent.silence();
    silent.progress();
    silent.sends_to(40000);
    for (u64 at = 1; at <= 13; ++at) {
        silent.ack(at * 1000, 100000);
    }
    check(silent.cwnd() == 14000, "slow start to ssthresh", 0);
    silent.ack(14000, 100000);
    check(is_near(silent.cwnd(), 14037.815), "growth begins", 0);
    silent.at(11);
    silent.ack(15000, 100000);
    check(is_near(silent.cwnd(), 14537.815), "far beyond K", 0);
    // 5. Reno-friendly region at 10 packets, left with 7: an ACK of 4 adds alpha x 4 / 7 = 0.302521, and one of 40 adds
    //    alpha x 40 / 7.302521 = 2.899890. Now W_est = 10.202411 is at the window before the loss, so 1 in place of alpha:
    //    an ACK of 1 adds 1 / 10.202411 = 0.098016.
    TcpTrace friendly("cubic");
    friendly.at(1);
    lose(friendly, 0, 10);
    check(friendly.cwnd() == 7000, "what a loss of ten leaves", 0);
    friendly.ack(15000, 100);
    check(is_near(friendly.cwnd(), 7302.521), "alpha", 1);
    friendly.ack(55000, 100);
    check(is_near(friendly.cwnd(), 10202.411), "alpha", 2);
    friendly.ack(56000, 100);
    check(is_near(friendly.cwnd(), 10300.427), "1 from then on", 3);
}

}  // namespace

int main() {
    check_losses();
    check_silence();
    // The law: sqrt(3 / (2 p)) packets on average, within 15 % and two packets, at a round trip of
    // 100 us: each full ACK here finds nothing in flight, so slow start takes some round trips.
    for (const u64 packets : {200, 1000, 5000}) {
        TcpTrace law("cubic");
        const double found = packet::mean_window(law, packets, 100);
        const double expected = std::sqrt(1.5 * static_cast<double>(packets));
        check(std::abs(found - expected) < 0.15 * expected + 2, "the window goes with the root of losses", packets);
    }
}
