// No congestion control: the rate of its line, within its window if it has one.
#include "network/packet/congestion_control.hpp"

namespace yantra::packet {

namespace {

class NoControl final : public CongestionControl {
public:
    using CongestionControl::CongestionControl;
    void begin(SenderId) override {}
    void acknowledged(SenderId, const Feedback&) override {}
};

const RegisteredScheme registered_none({
    "none",
    "the rate of the line; only the window and pauses hold it",
    [](Senders& senders) -> std::unique_ptr<CongestionControl> { return std::make_unique<NoControl>(senders); },
    TelemetryKind::none,
    false,
    {},
});

}  // namespace

}  // namespace yantra::packet
