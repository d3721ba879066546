#include "network/analytical.hpp"

#include <vector>

#include "base/ensure.hpp"
#include "network/crossed.hpp"
#include "network/level.hpp"
#include "network/ports.hpp"

namespace yantra {

namespace {

const RegisteredNetwork registered_analytical({
    .name = "analytical",
    .help = "latency of every hop and bytes over the narrowest bandwidth; messages take turns on the links of ranks",
    .make = [](const NetworkSetup& setup) -> std::unique_ptr<NetworkModel> {
        const bool lowest = setup.semantics.quirks.lowest_dimension_only;
        if (setup.semantics.quirks.links_carry_anything) {
            return std::make_unique<AnalyticalNetwork>(setup.grid, setup.semantics.scale, setup.engine, lowest);
        }
        return std::make_unique<PortNetwork>(setup.grid, setup.semantics.scale, setup.engine, lowest);
    },
    .folding = NetworkFolding::ports_by_class,
    .traits = {NetworkTrait::charges_latency, NetworkTrait::has_ports, NetworkTrait::lowest_dimension_only},
    .detail = 1,
    .flow_lists = FlowLists::alone,
    .options = {},
});

}  // namespace

void AnalyticalNetwork::send(const Message& message, Notice arrived, Notice departed) {
    const auto [first, from, to] = formula_.crossing(message);
    if (!departed.kind.is_none()) {
        const double serialisation =
            static_cast<double>(message.bytes) / grid_.dimension(first).bytes_per_ns;
        queue_.schedule(queue_.now() + scale_.ticks(serialisation), departed);
    }
    u64 delay = 0;
    if (formula_.crosses_one()) {
        count(use_[first], message.bytes, message.ranks);
        delay = formula_.known_ticks(first, grid_.hops(first, from, to), message.bytes);
    } else {
        delay = formula_.ticks_across(message, message.ranks, use_);
    }
    queue_.schedule(queue_.now() + delay, arrived);
}

u64 AnalyticalNetwork::alone(const Message& message, u64 times, std::vector<LinkUse>& use) const {
    use.resize(grid_.dimensions());
    if (!formula_.crosses_one()) {
        return formula_.ticks_across(message, times, use);
    }
    const auto [d, from, to] = formula_.crossing(message);
    count(use[d], message.bytes, times);
    return formula_.ticks_in(d, grid_.hops(d, from, to), message.bytes);
}

FixedWay AnalyticalNetwork::fixed_way(const Message& message) {
    if (!formula_.crosses_one()) {
        return {};
    }
    const auto [d, from, to] = formula_.crossing(message);
    return {formula_.known_ticks(d, grid_.hops(d, from, to), message.bytes), &use_[d]};
}

void AnalyticalNetwork::repeat(const std::vector<LinkUse>& before, u64 times) {
    repeat_use(use_, before, times);
}

}  // namespace yantra
