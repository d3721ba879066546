#include "network/unaware.hpp"

#include <algorithm>
#include <limits>

#include "base/ensure.hpp"

namespace yantra {

u64 UnawareNetwork::delay(u32 src, u32 dst, u64 bytes) const {
    const u32 lowest = grid_.lowest_difference(src, dst);
    ensure(lowest < grid_.dimensions(), "a message to its own sender");
    double latency = 0.0;
    double bytes_per_ns = std::numeric_limits<double>::infinity();
    for (u32 d = lowest; d < grid_.dimensions(); ++d) {
        const u32 from = grid_.coordinate(src, d);
        const u32 to = grid_.coordinate(dst, d);
        if (from == to) {
            continue;
        }
        const Dimension& dimension = grid_.dimension(d);
        latency += grid_.hops(d, from, to) * dimension.latency_ns;
        bytes_per_ns = std::min(bytes_per_ns, dimension.bytes_per_ns);
        if (lowest_dimension_only_) {
            break;
        }
    }
    return scale_.ticks(latency + static_cast<double>(bytes) / bytes_per_ns);
}

void UnawareNetwork::send(u32 src, u32 dst, u64 bytes, Notice arrived, Notice departed) {
    const u32 first = grid_.lowest_difference(src, dst);
    for (u32 d = first; d < grid_.dimensions(); ++d) {
        if (grid_.coordinate(src, d) != grid_.coordinate(dst, d)) {
            record(d, bytes);
        }
        if (lowest_dimension_only_) {
            break;
        }
    }
    if (departed.kind != none) {
        const double serialisation = static_cast<double>(bytes) / grid_.dimension(first).bytes_per_ns;
        queue_.schedule(queue_.now() + scale_.ticks(serialisation), departed.kind, departed.index);
    }
    queue_.schedule(queue_.now() + delay(src, dst, bytes), arrived.kind, arrived.index);
}

void UnawareNetwork::record(u32 dimension, u64 bytes) {
    LinkUse& use = use_[dimension];
    use.bytes += bytes;
    use.messages += 1;
}

void UnawareNetwork::on_event(u32, u32) { ensure(false, "the network has no events of its own"); }

}  // namespace yantra
