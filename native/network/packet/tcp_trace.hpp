// A TCP connection whose ACKs the test gives one by one.
#pragma once

#include <cmath>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/test.hpp"
#include "network/packet/tcp.hpp"

namespace yantra::packet {

// Packets of 1,000 bytes.
class TcpTrace {
public:
    explicit TcpTrace(const std::string& scheme, std::map<std::string, double> options = {})
        : settings_(settings_of(scheme, std::move(options))), senders_(settings_), sender_(senders_.add()) {
        Sender& flow = senders_[sender_];
        flow.line_rate = flow.rate = 100000000000;
        flow.size = 1000000000;
        control_ = find_scheme(scheme)->make(senders_);
        control_->begin(sender_);
    }

    double cwnd() const { return static_cast<const Tcp&>(*control_).cwnd(sender_); }
    u64 window() const { return senders_[sender_].window_now; }
    double silence_us() const { return senders_.ns(senders_[sender_].silence) / 1000; }
    std::vector<u64> resent() { return std::exchange(senders_.board(senders_[sender_]).lost, {}); }

    void opened(double rtt_us) { control_->opened(sender_, senders_.ticks(rtt_us * 1000)); }
    void sends_to(u64 byte) { senders_[sender_].next = byte; }
    void at(double seconds) { senders_.wheel.advance_to(senders_.ticks(seconds * 1e9)); }
    // For data sent one round trip before.
    void ack(u64 byte, double rtt_us) {
        Sender& flow = senders_[sender_];
        Feedback feedback;
        feedback.acknowledged = byte;
        feedback.newly = byte - flow.acknowledged;
        feedback.is_duplicate = feedback.newly == 0;
        feedback.stamp = senders_.now() - senders_.ticks(rtt_us * 1000);
        flow.acknowledged = byte;
        control_->acknowledged(sender_, feedback);
    }
    void duplicates(u32 count) {
        for (u32 at = 0; at < count; ++at) {
            ack(senders_[sender_].acknowledged, 0);
        }
    }
    void silence() {
        ++senders_[sender_].timeouts;
        control_->timed_out(sender_);
        senders_[sender_].next = senders_[sender_].acknowledged;
    }
    void progress() { senders_[sender_].timeouts = 0; }

private:
    static Settings settings_of(const std::string& scheme, std::map<std::string, double> options) {
        Settings settings;
        settings.congestion_control = scheme;
        settings.has_window = false;
        settings.recovery = RecoveryKind::duplicate_acks;
        settings.options = std::move(options);
        return settings;
    }

    const Settings settings_;
    Senders senders_;
    SenderId sender_;
    std::unique_ptr<CongestionControl> control_;
};

// In packets, over a thousand losses.
inline double mean_window(TcpTrace& trace, u64 packets_of_a_loss, double rtt_us) {
    double sum = 0.0;
    double seconds = 1.0;
    u64 acknowledged = 0;
    u64 rounds = 0;
    constexpr u64 losses = 1000;
    for (u64 until = packets_of_a_loss; until <= losses * packets_of_a_loss;) {
        const u64 window = trace.window() / 1000;
        seconds += rtt_us * 1e-6;
        trace.at(seconds);
        trace.sends_to((acknowledged + window) * 1000);
        sum += static_cast<double>(window);
        ++rounds;
        const bool is_lossy = acknowledged + window >= until;
        if (is_lossy) {
            trace.duplicates(3);
            trace.resent();
            until += packets_of_a_loss;
        }
        for (u64 packet = is_lossy ? window : 1; packet <= window; ++packet) {
            trace.ack((acknowledged + packet) * 1000, rtt_us);
        }
        acknowledged += window;
    }
    return sum / static_cast<double>(rounds);
}

inline bool is_near(double found, double expected) { return std::abs(found - expected) < 1e-4 * expected; }

}  // namespace yantra::packet
