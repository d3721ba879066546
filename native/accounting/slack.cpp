#include "accounting/slack.hpp"

#include <algorithm>

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
    for (auto at = static_cast<u32>(late.size()); at-- > 0;) {
        if (late[at] == never) {
            continue;
        }
        const Moment& moment = recording.moments[at];
        auto limit = [&](u32 earlier, u64 due) {
            late[earlier] = std::min(late[earlier], late[at] + due - recording.moments[earlier].time);
        };
        for (u64 edge = moment.first_edge; edge < recording.edges_end(at); ++edge) {
            limit(recording.edges[edge], moment.time);
        }
        if (moment.cause == none) {
            continue;
        }
        late[moment.cause] = std::min(late[moment.cause], late[at]);
        if (recording.by_hop && is_of_message(moment.why)) {
            const HopLog& hop = recording.hops[moment.subject];
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
