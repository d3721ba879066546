#include "network/packet/tcp.hpp"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

namespace yantra::packet {

namespace {

constexpr u32 duplicates_of_loss = 3;
constexpr double clock_grain_ns = 1000.0;   // G of RFC 6298

}  // namespace

Tcp::Tcp(Senders& senders)
    : CongestionControl(senders),
      first_window_(option("first_window", 0.0)),
      least_silence_ns_(option("least_silence", 1e9)),
      first_silence_ns_(option("first_silence", 1e9)) {
    if (first_window_ <= 0.0) {   // RFC 6928, equation 1
        first_window_ = std::min(10.0 * segment(), std::max(2.0 * segment(), 14600.0));
    }
}

void Tcp::begin(SenderId sender) {
    if (!flows_.has(sender)) {
        flows_.resize(sender.index() + std::size_t{1});
    }
    flows_[sender] = Flow{};
    flows_[sender].cwnd = first_window_;
    senders_.set_silence(sender, senders_.ticks(first_silence_ns_));
    begin_growth(sender);
    apply(sender, flows_[sender]);
}

void Tcp::opened(SenderId sender, u64 round_trip) { measure(sender, flows_[sender], senders_.ns(round_trip)); }

// RFC 6298, section 2.
void Tcp::measure(SenderId sender, Flow& of, double rtt_ns) {
    if (of.rtt_ns == 0.0) {
        of.rtt_ns = rtt_ns;
        of.rtt_var_ns = rtt_ns / 2;
    } else {
        of.rtt_var_ns = 0.75 * of.rtt_var_ns + 0.25 * std::abs(of.rtt_ns - rtt_ns);
        of.rtt_ns = 0.875 * of.rtt_ns + 0.125 * rtt_ns;
    }
    const double silence = of.rtt_ns + std::max(clock_grain_ns, 4 * of.rtt_var_ns);
    senders_.set_silence(sender, senders_.ticks(std::max(least_silence_ns_, silence)));
}

void Tcp::acknowledged(SenderId sender, const Feedback& feedback) {
    Flow& of = flows_[sender];
    if (feedback.newly > 0) {
        measure(sender, of, senders_.ns(senders_.now() - feedback.stamp));
        advance(sender, of, feedback);
    } else if (feedback.is_duplicate) {
        duplicate(sender, of);
    }
    apply(sender, of);
}

void Tcp::advance(SenderId sender, Flow& of, const Feedback& feedback) {
    const Sender& flow = senders_[sender];
    of.duplicates = 0;
    if (of.recovers && feedback.acknowledged >= of.recover) {   // RFC 6582, section 3.2, step 3, a full ACK
        of.recovers = false;
        const double in_flight = static_cast<double>(flow.next - flow.acknowledged);
        of.cwnd = std::min(of.ssthresh, std::max(in_flight, segment()) + segment());
    } else if (of.recovers) {   // a partial one: the next hole was lost, too
        senders_.resend(sender, flow.acknowledged);
        of.cwnd -= static_cast<double>(feedback.newly);
        of.cwnd += static_cast<double>(feedback.newly) >= segment() ? segment() : 0.0;
        of.cwnd = std::max(of.cwnd, segment());
    } else if (of.cwnd < of.ssthresh) {   // RFC 5681, equation 2
        of.cwnd += std::min(static_cast<double>(feedback.newly), segment());
    } else {
        of.cwnd = grown(sender, of, feedback.newly);
    }
}

// RFC 5681, section 3.2; losing a resent packet again is left to silence.
void Tcp::duplicate(SenderId sender, Flow& of) {
    const Sender& flow = senders_[sender];
    if (of.recovers) {
        of.cwnd += segment();
        return;
    }
    if (++of.duplicates != duplicates_of_loss || (of.recover > 0 && flow.acknowledged <= of.recover)) {
        return;
    }
    of.ssthresh = after_loss(sender, of, static_cast<double>(flow.next - flow.acknowledged), false);
    of.recover = flow.next;
    of.recovers = true;
    of.cwnd = of.ssthresh + duplicates_of_loss * segment();
    senders_.resend(sender, flow.acknowledged);
}

// RFC 5681, equation 4.
void Tcp::timed_out(SenderId sender) {
    Flow& of = flows_[sender];
    const Sender& flow = senders_[sender];
    if (flow.timeouts <= 1) {
        of.ssthresh = after_loss(sender, of, static_cast<double>(flow.next - flow.acknowledged), true);
    }
    of.recover = std::max(of.recover, flow.next);
    of.recovers = false;
    of.duplicates = 0;
    of.cwnd = segment();
    apply(sender, of);
}

void Tcp::apply(SenderId sender, const Flow& of) {
    const double segments = std::max(1.0, std::floor(of.cwnd / segment()));
    senders_.set_window(sender, static_cast<u64>(std::min(segments * segment(), 9e15)));
}

std::vector<SchemeOption> tcp_options(std::vector<SchemeOption> own) {
    std::vector<SchemeOption> all = {
        {"first_window", "B", 0.0, 0.0, "Of a new connection; 0: ten packets, up to 14,600 bytes but two at least."},
        {"least_silence", "ns", 1e9, 1.0, "The least silence that is a loss; longer where round trips vary."},
        {"first_silence", "ns", 1e9, 1.0, "That, before a round trip was measured."},
    };
    for (SchemeOption& option : own) {
        all.push_back(std::move(option));
    }
    return all;
}

}  // namespace yantra::packet
