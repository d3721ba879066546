#include "accounting/slack.hpp"

#include <algorithm>
#include <vector>

#include "accounting/steps.hpp"

namespace yantra {

std::vector<u64> slack(const Outcome& outcome, const Recording& recording) {
    const u64 makespan = *std::max_element(outcome.finish.begin(), outcome.finish.end());
    std::vector<u64> late(recording.moments.size(), never);
    for (u32 moment : recording.ended) {
        if (moment != none) {
            late[moment] = makespan - recording.moments[moment].time;
        }
    }
    std::size_t edge = recording.edges.size();
    for (auto at = static_cast<u32>(late.size()); at-- > 0;) {
        const Moment& moment = recording.moments[at];
        // `earlier` had to come by `due`.
        auto limit = [&](u32 earlier, u64 due) {
            const u64 early = due - recording.moments[earlier].time;
            late[earlier] = std::min(late[earlier], late[at] == never ? never : late[at] + early);
        };
        for (; edge > 0 && recording.edges[edge - 1].to == at; --edge) {
            limit(recording.edges[edge - 1].from, moment.time);
        }
        if (late[at] == never || moment.cause == none) {
            continue;
        }
        late[moment.cause] = std::min(late[moment.cause], late[at]);
        if (recording.by_hop && is_of_message(moment.why())) {
            const HopLog& hop = recording.hops[moment.subject()];
            if (hop.other != none) {
                limit(hop.other, recording.moments[hop.begun].time);
            }
        }
    }
    std::vector<u64> by_node;
    for (u32 moment : recording.ended) {
        by_node.push_back(moment == none ? never : late[moment]);
    }
    return by_node;
}

}  // namespace yantra
