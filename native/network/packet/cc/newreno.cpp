// NewReno (RFC 5681, RFC 6582; network/packet/tcp.hpp). Beyond ssthresh an ACK adds MSS^2 / cwnd
// (equation 3); a loss leaves max(in flight / 2, 2 MSS) (equation 4). Laws: with a share p lost,
// sqrt(3 / (2 p)) segments (Mathis et al., CCR 1997); equal shares (Chiu and Jain, 1989).
#include <algorithm>

#include "network/packet/tcp.hpp"

namespace yantra::packet {

namespace {

class NewReno final : public Tcp {
public:
    using Tcp::Tcp;

private:
    void begin_growth(SenderId) override {}
    double grown(SenderId, const Flow& of, u64) override { return of.cwnd + segment() * segment() / of.cwnd; }
    double after_loss(SenderId, const Flow&, double in_flight, bool) override {
        return std::max(in_flight / 2, 2 * segment());
    }
};

const RegisteredScheme registered_newreno({
    "newreno",
    "TCP: a packet more in a round trip, half for a loss",
    [](Senders& senders) -> std::unique_ptr<CongestionControl> { return std::make_unique<NewReno>(senders); },
    TelemetryKind::stamp,
    false,
    tcp_options({}),
    RecoveryKind::duplicate_acks,
    true,
});

}  // namespace

}  // namespace yantra::packet
