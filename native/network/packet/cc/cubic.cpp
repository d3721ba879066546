// CUBIC: a window that grows as a cubic of the time since the last loss (RFC 9438).
//
// In segments and seconds, with t since this growth began from cwnd_epoch (section 4.2):
//     W(t) = C (t - K)^3 + W_max,  K = cbrt((W_max - cwnd_epoch) / C),
//     target = W(t + RTT), at least cwnd and at most 1.5 cwnd;  an ACK adds (target - cwnd) / cwnd.
// Where W(t) is below W_est, which an ACK raises by alpha acked / cwnd with alpha = 3 (1 - beta) /
// (1 + beta), and 1 once it is at the window before the last loss, the window is W_est (section
// 4.3, Reno-friendly). A loss leaves beta of what is in flight (4.6), and W_max is the window
// before it, or (1 + beta) / 2 of that if it is below the last W_max (4.7, fast convergence). After
// silence K is 0 and W_max the window with which growth begins (4.8). Laws: at round trips of a
// data centre CUBIC is in its Reno-friendly region, so alone it has NewReno's window for a share p
// of losses, sqrt(3 / (2 p)) segments; flows into one port share it. Beyond, W grows whatever the
// round trip.
#include <algorithm>
#include <cmath>
#include <vector>

#include "network/packet/tcp.hpp"

namespace yantra::packet {

namespace {

class Cubic final : public Tcp {
public:
    explicit Cubic(Senders& senders)
        : Tcp(senders), c_(option("cubic_scale", 0.4)), beta_(option("kept", 0.7)), converges_(option("fast_convergence", 1.0) != 0.0) {}

private:
    struct Growth {
        double most = 0.0;      // W_max, segments
        double before = 0.0;    // window before the last loss
        double k_s = 0.0;
        double estimate = 0.0;  // W_est
        u64 began = 0;          // tick
        bool is_new = true;     // growth begins with the next ACK
        bool after_silence = false;
    };

    void begin_growth(SenderId sender) override {
        if (!growths_.has(sender)) {
            growths_.resize(sender.index() + std::size_t{1});
        }
        growths_[sender] = Growth{};
    }

    void start(Growth& growth, double cwnd) {
        growth.is_new = false;
        growth.began = senders_.now();
        growth.estimate = cwnd;
        if (growth.after_silence || growth.most < cwnd) {
            growth.most = cwnd;
        }
        growth.k_s = std::cbrt((growth.most - cwnd) / c_);
    }

    double at(const Growth& growth, double seconds) const {
        return c_ * std::pow(seconds - growth.k_s, 3.0) + growth.most;
    }

    double grown(SenderId sender, const Flow& of, u64 newly) override {
        Growth& growth = growths_[sender];
        const double cwnd = of.cwnd / segment();
        if (growth.is_new) {
            start(growth, cwnd);
        }
        const double seconds = senders_.ns(senders_.now() - growth.began) * 1e-9;
        const double alpha = growth.estimate >= growth.before ? 1.0 : 3 * (1 - beta_) / (1 + beta_);
        growth.estimate += alpha * static_cast<double>(newly) / segment() / cwnd;
        if (at(growth, seconds) < growth.estimate) {
            return std::max(cwnd, growth.estimate) * segment();
        }
        const double target = std::clamp(at(growth, seconds + of.rtt_ns * 1e-9), cwnd, 1.5 * cwnd);
        return (cwnd + (target - cwnd) / cwnd) * segment();
    }

    double after_loss(SenderId sender, const Flow& of, double in_flight, bool by_silence) override {
        Growth& growth = growths_[sender];
        const double cwnd = of.cwnd / segment();
        growth.most = converges_ && cwnd < growth.most ? cwnd * (1 + beta_) / 2 : cwnd;
        growth.before = cwnd;
        growth.is_new = true;
        growth.after_silence = by_silence;
        return std::max(beta_ * in_flight, 2 * segment());
    }

    double c_;
    double beta_;
    bool converges_;
    IdVector<SenderId, Growth> growths_;
};

const RegisteredScheme registered_cubic({
    "cubic",
    "TCP: a window that grows as a cubic of the time since the last loss",
    [](Senders& senders) -> std::unique_ptr<CongestionControl> { return std::make_unique<Cubic>(senders); },
    TelemetryKind::stamp,
    false,
    tcp_options({
        {"cubic_scale", "", 0.4, 1e-6, "C: packets by which the window grows, for a second cubed."},
        {"kept", "", 0.7, 0.0, "beta: what a loss leaves of the window."},
        {"fast_convergence", "", 1.0, 0.0, "1: a flow that loses below its last maximum makes room sooner."},
    }),
    RecoveryKind::duplicate_acks,
    true,
});

}  // namespace

}  // namespace yantra::packet
