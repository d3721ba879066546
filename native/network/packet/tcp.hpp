// Tcp: the common part of TCPs (RFC 5681; RFC 6582, slow-but-steady; RFC 6298; RFC 6928; RFC 7323
// without Karn's exception); growth and cuts are in network/packet/cc/newreno.cpp and cubic.cpp.
// Left out: delayed ACKs, SACK, limited transmit (RFC 3042), HyStart, ECN, and the receiver's
// window.
#pragma once

#include <limits>
#include <string>
#include <vector>

#include "network/packet/congestion_control.hpp"

namespace yantra::packet {

class Tcp : public CongestionControl {
public:
    explicit Tcp(Senders& senders);

    // With time stamps 32 bytes: 54 with those of IPv4 and PPP.
    u32 header_bytes(u32 /*links*/) const override { return 18; }
    void begin(SenderId sender) override;
    void opened(SenderId sender, u64 round_trip) override;
    void acknowledged(SenderId sender, const Feedback& feedback) override;
    void timed_out(SenderId sender) override;
    // In bytes, unrounded.
    double cwnd(SenderId sender) const { return flows_[sender].cwnd; }

protected:
    static constexpr double never_cut = std::numeric_limits<double>::infinity();

    struct Flow {
        double cwnd = 0.0;       // bytes
        double ssthresh = never_cut;
        u64 recover = 0;         // byte to be sent next when the last loss was found
        u32 duplicates = 0;
        bool recovers = false;
        double rtt_ns = 0.0;     // smoothed; 0: none yet
        double rtt_var_ns = 0.0;
    };

    double segment() const { return senders_.settings.payload_bytes; }
    double option(const char* name, double fallback) const { return senders_.settings.option(name, fallback); }

    // A new flow takes the place.
    virtual void begin_growth(SenderId sender) = 0;
    // In bytes.
    virtual double grown(SenderId sender, const Flow& of, u64 newly) = 0;
    // ssthresh, in bytes.
    virtual double after_loss(SenderId sender, const Flow& of, double in_flight, bool by_silence) = 0;

private:
    void measure(SenderId sender, Flow& of, double rtt_ns);
    void advance(SenderId sender, Flow& of, const Feedback& feedback);
    void duplicate(SenderId sender, Flow& of);
    void apply(SenderId sender, const Flow& of);

    double first_window_;        // bytes
    double least_silence_ns_;
    double first_silence_ns_;
    IdVector<SenderId, Flow> flows_;
};

// Options of every TCP.
std::vector<SchemeOption> tcp_options(std::vector<SchemeOption> own);

}  // namespace yantra::packet
