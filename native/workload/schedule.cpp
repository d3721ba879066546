#include "workload/schedule.hpp"

#include <algorithm>
#include <numeric>
#include <vector>

#include "base/ensure.hpp"

namespace yantra {

namespace {

std::vector<u32> positions(std::span<const i64> priority) {
    if (std::is_sorted(priority.rbegin(), priority.rend())) {
        return {};
    }
    std::vector<u32> order(priority.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(),
                     [priority](u32 a, u32 b) { return priority[a] > priority[b]; });
    std::vector<u32> position(order.size());
    for (u32 at = 0; at < order.size(); ++at) {
        position[order[at]] = at;
    }
    return position;
}

}  // namespace

std::shared_ptr<const Job> scheduled(const Job& job, std::span<const i64> priority,
                                     std::span<const i64> of_collective) {
    ensure(priority.size() == job.ops.size(), "schedule: not one priority for each node");
    auto made = std::make_shared<Job>(job);
    made->position = positions(priority);
    if (!of_collective.empty()) {
        ensure(of_collective.size() == job.ops.size(), "schedule: not one priority for each node");
        for (std::size_t node = 0; node < job.ops.size(); ++node) {
            if (job.ops[node].kind == OpKind::collective) {
                made->ops[node].priority = of_collective[node];
            }
        }
    }
    return made;
}

}  // namespace yantra
