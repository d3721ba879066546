// Meetings: collectives that wait, without a slot, until all members have come and are free (quirk
// collectives-start-together; ASTRA-sim branch of the artifact of Chakra's MLSys 2026 paper), by
// kind, size, tag and group name. Trade-off: such runs are not folded.
#pragma once

#include <list>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "base/ids.hpp"
#include "base/types.hpp"
#include "model/model.hpp"
#include "trace/graph.hpp"

namespace yantra::inline YANTRA_RUN {

class Meetings {
public:
    struct Call {
        ActorId actor;
        NodeId node;
    };

    explicit Meetings(const Model& model) : model_(model) {}

    // Upstream's hash of a graph node.
    static u64 key_of(const Graph& graph, u32 node, u64 bytes);

    bool come(u64 key, u32 communicator, const Call& call);

    template <class MayStart, class Start>
    void start_all(MayStart&& may_start, Start&& start) {
        for (auto at = meetings_.begin(); at != meetings_.end();) {
            std::list<Meeting>& meetings = at->second;
            for (auto meeting = meetings.begin(); meeting != meetings.end();) {
                if (!meeting->missing.empty() || !meeting->all(may_start)) {
                    ++meeting;
                    continue;
                }
                for (const auto& [rank, node] : meeting->came) {
                    start(Call{ActorId(static_cast<u32>(rank)), node});
                }
                meeting = meetings.erase(meeting);
            }
            at = meetings.empty() ? meetings_.erase(at) : std::next(at);
        }
    }

private:
    struct Meeting {
        std::unordered_map<u64, NodeId> came;   // by rank
        std::unordered_set<u64> missing;

        template <class MayStart>
        bool all(MayStart&& may_start) const {
            for (const auto& [rank, node] : came) {
                if (!may_start(Call{ActorId(static_cast<u32>(rank)), node})) {
                    return false;
                }
            }
            return true;
        }
    };

    const Model& model_;
    std::unordered_map<u64, std::list<Meeting>> meetings_;
};

}  // namespace yantra
