#include "network/packet/ports.hpp"

#include <stdexcept>
#include <string>
#include <utility>

namespace yantra::packet {

Ports::Ports(const FabricSpec& fabric, const Settings& settings, Senders& senders)
    : settings_(settings), senders_(senders), is_host_(fabric.is_host), leaving_(fabric.is_host.size()) {
    for (const LinkSpec& spec : fabric.links) {
        add(spec);
    }
    senders_.wake_timers.assign(ports_.size(), none);
    senders_.wake_ticks.assign(ports_.size(), 0);
    senders_.ready.resize(ports_.size());
}

void Ports::add(const LinkSpec& spec) {
    Port port;
    port.from = spec.from;
    port.to = spec.to;
    port.twin = PortId(spec.twin);
    port.delay = spec.delay;
    port.bits_per_s = spec.bits_per_s;
    port.is_host = is_host_[spec.from];
    port.by_formula = spec.by_formula;
    port.of_rate = spec.by_formula ? table_of(0) : table_of(spec.bits_per_s);
    const MarkLimits limits = settings_.limits_of(spec.bits_per_s);
    const bool marks = settings_.marks && !settings_.limits.empty() && !spec.by_formula;
    port.kmin = marks ? static_cast<u64>(limits.kmin_bytes) : ~u64{0};
    port.kmax = marks ? static_cast<u64>(limits.kmax_bytes) : ~u64{0};
    port.pmax = limits.pmax;
    leaving_[spec.from].push_back(PortId(size()));
    ports_.push_back(port);
    senders_.line_rates.add(port.bits_per_s);
}

u32 Ports::table_of(u64 bits_per_s) {
    for (u32 table = 0; table < tables_.size(); ++table) {
        if (rates_[table] == bits_per_s) {
            return table;
        }
    }
    std::vector<u32> ticks(settings_.payload_bytes + std::size_t{600});
    for (std::size_t bytes = 0; bits_per_s > 0 && bytes < ticks.size(); ++bytes) {
        const u64 exact = senders_.transmission.ticks(bytes, bits_per_s);
        if (exact >= none) {
            throw std::invalid_argument("a link of " + std::to_string(bits_per_s) +
                                        " bit/s takes longer than 4 ms for a packet; take a faster one");
        }
        ticks[bytes] = static_cast<u32>(exact);
    }
    tables_.push_back(std::move(ticks));
    rates_.push_back(bits_per_s);
    return static_cast<u32>(tables_.size() - 1);
}

}  // namespace yantra::packet
