#include "network/analytical.hpp"

#include <algorithm>
#include <limits>

#include "base/ensure.hpp"
#include "base/vector.hpp"
#include "network/crossed.hpp"
#include "network/level.hpp"

namespace yantra {

namespace {

const RegisteredNetwork registered_analytical({
    .name = "analytical",
    .help = "latency of every hop and bytes over the narrowest bandwidth; messages do not share links",
    .make = [](const Model& model, const Grid& grid, Engine& engine) -> std::unique_ptr<NetworkModel> {
        return std::make_unique<AnalyticalNetwork>(grid, model.scale, engine,
                                                   model.quirks.lowest_dimension_only);
    },
    .folding = NetworkFolding::messages_never_wait,
    .charges_latency = true,
    .detail = 1,
    .has_links = false,
    .knows_lowest_dimension_only = true,
    .flow_lists = FlowLists::alone,
    .options = {},
});

}  // namespace

inline Grid::Crossing AnalyticalNetwork::crossing(const Message& message) const {
    const Grid::Crossing first = grid_.first_crossing(message.src.index(), message.dst.index());
    ensure(first.dimension < grid_.dimensions(), "a message to its own sender");
    return first;
}

inline u64 AnalyticalNetwork::known_delay(u32 d, u32 hops, u64 bytes) {
    const u64 mixed = (bytes + (u64{hops} << 40U)) * 0x9e3779b97f4a7c15u;
    KnownDelay& known = known_[(std::size_t{d} << known_bits) + (mixed >> (64 - known_bits))];
    if (known.bytes != bytes || known.hops != hops) [[unlikely]] {
        known = {bytes, ticks_in(d, hops, bytes), hops};
    }
    return known.ticks;
}

inline u64 AnalyticalNetwork::delay_in(u32 d, u32 hops, const Message& message) {
    count(use_[d], message.bytes, message.ranks);
    return known_delay(d, hops, message.bytes);
}

void AnalyticalNetwork::send(const Message& message, Notice arrived, Notice departed) {
    const auto [first, from, to] = crossing(message);
    if (!departed.kind.is_none()) {
        const double serialisation =
            static_cast<double>(message.bytes) / grid_.dimension(first).bytes_per_ns;
        queue_.schedule(queue_.now() + scale_.ticks(serialisation), departed);
    }
    const u64 delay = crosses_one() ? delay_in(first, grid_.hops(first, from, to), message)
                                    : delay_across(message, message.ranks, use_);
    queue_.schedule(queue_.now() + delay, arrived);
}

u64 AnalyticalNetwork::ticks_in(u32 d, u32 hops, u64 bytes) const {
    const Dimension& dimension = grid_.dimension(d);
    return scale_.ticks(hops * dimension.latency_ns +
                        static_cast<double>(bytes) / dimension.bytes_per_ns);
}

u64 AnalyticalNetwork::alone(const Message& message, u64 times, Vector<LinkUse>& use) const {
    use.resize(grid_.dimensions());
    if (!crosses_one()) {
        return delay_across(message, times, use);
    }
    const auto [d, from, to] = crossing(message);
    count(use[d], message.bytes, times);
    return ticks_in(d, grid_.hops(d, from, to), message.bytes);
}

FixedWay AnalyticalNetwork::fixed_way(const Message& message) {
    if (!crosses_one()) {
        return {};
    }
    const auto [d, from, to] = crossing(message);
    return {known_delay(d, grid_.hops(d, from, to), message.bytes), &use_[d]};
}

u64 AnalyticalNetwork::delay_across(const Message& message, u64 times,
                                    Vector<LinkUse>& use) const {
    double latency = 0.0;
    double bytes_per_ns = std::numeric_limits<double>::infinity();
    for_each_crossed(grid_, message, [&](u32 d, u32 from, u32 to) {
        const Dimension& dimension = grid_.dimension(d);
        latency += grid_.hops(d, from, to) * dimension.latency_ns;
        bytes_per_ns = std::min(bytes_per_ns, dimension.bytes_per_ns);
        count(use[d], message.bytes, times);
    });
    return scale_.ticks(latency + static_cast<double>(message.bytes) / bytes_per_ns);
}

void AnalyticalNetwork::repeat(const Vector<LinkUse>& before, u64 times) {
    repeat_use(use_, before, times);
}

void AnalyticalNetwork::handle(const Event&) { fail("the analytical network has no events of its own"); }

}  // namespace yantra
