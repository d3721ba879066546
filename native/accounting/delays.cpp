#include "accounting/delays.hpp"

#include <algorithm>

namespace yantra {

Delays::Delays(const Model& model, const Recording& recording)
    : model_(model), recording_(recording), grid_(model.network.dimensions, model.network.tables) {}

u64 Delays::latency(u32 subject, u64 ticks) const {
    if (recording_.by_span) {
        return std::min(recording_.way_latency[subject], ticks);
    }
    const u64 whole =
        recording_.by_hop
            ? model_.semantics.scale.ticks(grid_.dimension(dimension(subject)).latency_ns)
            : latency_of(recording_.messages[subject]);
    return std::min(whole, ticks);
}

u32 Delays::dimension(u32 subject) const {
    return recording_.by_hop ? dimension_of_link(recording_.hops[subject].link)
                             : lowest_dimension(recording_.messages[subject]);
}

u32 Delays::lowest_dimension(const MessageLog& message) const {
    return grid_.lowest_difference(recording_.source_of(message), message.destination);
}

u32 Delays::dimension_of_link(u32 link) const {
    const auto& first = recording_.first_link;
    return static_cast<u32>(std::upper_bound(first.begin(), first.end(), link) - first.begin()) - 1;
}

// Without links: the hops of the dimensions that count (see AnalyticalNetwork).
u64 Delays::latency_of(const MessageLog& message) const {
    double ns = 0.0;
    for (u32 d = lowest_dimension(message); d < grid_.dimensions(); ++d) {
        const u32 from = grid_.coordinate(recording_.source_of(message), d);
        const u32 to = grid_.coordinate(message.destination, d);
        if (from != to) {
            ns += grid_.hops(d, from, to) * grid_.dimension(d).latency_ns;
        }
        if (model_.semantics.quirks.lowest_dimension_only) {
            break;
        }
    }
    return model_.semantics.scale.ticks(ns);
}

u64 Delays::transfer_of(const MessageLog& message) const {
    double ns = 0.0;
    for (u32 d = lowest_dimension(message); d < grid_.dimensions(); ++d) {
        if (grid_.coordinate(recording_.source_of(message), d) != grid_.coordinate(message.destination, d)) {
            ns = std::max(ns, static_cast<double>(message.bytes) / grid_.dimension(d).bytes_per_ns);
        }
        if (model_.semantics.quirks.lowest_dimension_only) {
            break;
        }
    }
    return model_.semantics.scale.ticks(ns);
}

}  // namespace yantra
