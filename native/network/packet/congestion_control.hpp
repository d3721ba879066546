// CongestionControl: how fast a flow may send, judged by its ACKs. Each scheme registers itself in
// its own file of network/packet/cc (`const RegisteredScheme`) and keeps state by sender. It is
// called after an ACK has moved the window and before the NIC looks for work.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "network/packet/sender.hpp"

namespace yantra::packet {

enum class TelemetryKind : u8 { none, stamp, hops, power };

class CongestionControl {
public:
    explicit CongestionControl(Senders& senders) : senders_(senders) {}
    CongestionControl(const CongestionControl&) = delete;
    CongestionControl& operator=(const CongestionControl&) = delete;
    virtual ~CongestionControl() = default;

    virtual void begin(SenderId sender) = 0;
    virtual void acknowledged(SenderId sender, const Feedback& feedback) = 0;
    virtual void timer(SenderId /*sender*/, u32 /*own*/) {}
    // Asking took a round trip of so many ticks.
    virtual void opened(SenderId /*sender*/, u64 /*round_trip*/) {}
    virtual void timed_out(SenderId /*sender*/) {}
    virtual void end(SenderId /*sender*/) {}
    virtual bool tells_mark(SenderId /*sender*/, bool is_marked) { return is_marked; }
    // `links`: the most that a flow crosses.
    virtual u32 header_bytes(u32 /*links*/) const { return 0; }

protected:
    Senders& senders_;
};

struct SchemeOption {
    std::string name;
    std::string unit;      // "ns", "bit/s", "B" or "" for a plain number
    double fallback = 0.0;
    double least = 0.0;
    std::string help;
    std::vector<std::string> choices = {};   // names of its values 0, 1, ...; empty for a number
};

struct Scheme {
    using Make = std::unique_ptr<CongestionControl> (*)(Senders&);

    std::string name;
    std::string help;      // one line
    Make make = nullptr;
    TelemetryKind telemetry = TelemetryKind::none;
    bool needs_window = false;
    std::vector<SchemeOption> options;
    std::optional<RecoveryKind> recovery = {};   // the scheme's own; else that of the settings
    bool connects = false;              // a round trip precedes data
    // Whether tells_mark() reads what begin() made; then both ends of a flow have one thread. Null: no.
    bool (*tells_by_state)(const Settings&) = nullptr;
    // The settings that go with the scheme, as a preset of its name; null: those of
    // `static_window`.
    void (*beside)(Settings& settings, double host_gbps) = nullptr;
};

// All schemes, by name.
const std::vector<Scheme>& schemes();
// Null if unknown.
const Scheme* find_scheme(std::string_view name);
// Throws std::invalid_argument if there is none.
const Scheme& scheme_named(std::string_view name);

struct RegisteredScheme {
    [[gnu::cold]] explicit RegisteredScheme(Scheme scheme);
};

}  // namespace yantra::packet
