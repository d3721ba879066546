// Meetings: collectives that wait, at no cost of a slot, until all members have come and are free.
//
// So does the branch of ASTRA-sim that the artifact of Chakra's paper at MLSys 2026 uses (quirk
// collectives-start-together): calls of one kind, size, tag and group's name meet, in the order in which each rank
// makes them, and whenever the last member comes or a collective ends all that can start do, in the order of its hash
// maps. Those of libstdc++ are taken, on which it runs.
//
// Trade-off: actors are ranks here, so such a run is not folded.
#pragma once

#include <list>
#include <unordered_map>
#include <unordered_set>

#include "base/ids.hpp"
#include "base/types.hpp"
#include "base/vector.hpp"
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

    // What a call is known by: upstream's hash of a node of a graph.
    static u64 key_of(const Graph& graph, u32 node, u64 bytes);

    // A rank makes a call to a communicator. Returns whether it was the last of a meeting.
    bool come(u64 key, u32 communicator, const Call& call);

    // Takes out the meetings that are complete and whose calls `may_start`, one after the other, and starts their
    // calls by `start` before it looks at the next.
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
