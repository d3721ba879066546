#include "network/packet/common.hpp"

#include <stdexcept>
#include <string>

#include "network/packet/options.hpp"

namespace yantra::packet {

namespace {

constexpr u64 most_bytes = 65535;   // of a packet

const Scheme& scheme_of(const Settings& settings) {
    check_scheme(settings);
    if (settings.payload_bytes == 0 || settings.payload_bytes + 1000 > most_bytes) {
        throw std::invalid_argument("a payload of 1 to 64,000 bytes is expected, not " +
                                    std::to_string(settings.payload_bytes));
    }
    return scheme_named(settings.congestion_control);
}

// With pauses none does: each port has head room for what comes after it asked for one.
bool may_lose(const Settings& settings) {
    return !settings.pauses || settings.has(Quirk::headroom_wraps) || settings.has(Quirk::thin_headroom);
}

}  // namespace

Common::Common(const FabricSpec& fabric, const Settings& given, Observer& told, const Part& part)
    : settings(given),
      scheme(scheme_of(settings)),
      observer(told),
      senders(settings),
      border(part.parts == 1 ? Border() : Border(part.number, part.part_of, part.parts)),
      ports(fabric, settings, senders),
      all_routes(part.routes != nullptr ? part.routes : std::make_shared<Routes>(settings, senders, ports)),
      routes(*all_routes),
      packets(senders, scheme.telemetry),
      control(scheme.make(senders)),
      can_lose(may_lose(settings)) {
    packets.count_headers(*control);
    ports.each([this](PortId port) { ports[port].is_cut = border.is_cut(ports[port].from, ports[port].to); });
}

void Common::cross(PacketId packet, u32 device, u64 tick) {
    border.send(device, tick, packets[packet], packets.all_telemetry_of(packet));
    packets.give_back(packet);
}

}  // namespace yantra::packet
