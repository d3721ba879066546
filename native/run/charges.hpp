// Charges: the link load of collectives of known time, added after the run to the ways of messages,
// for the whole cluster. A measured time below the bytes' time shows as a load above it. Trade-off:
// ways of an idle network, and no message is delayed.
#pragma once

#include <cmath>
#include <variant>
#include <vector>

#include "base/variant.hpp"
#include "fabric/grid.hpp"
#include "model/model.hpp"
#include "network/ways.hpp"
#include "run/outcome.hpp"

namespace yantra::inline YANTRA_RUN {

struct KnownCollective {
    u32 communicator = 0;
    u32 program = 0;
    u64 bytes = 0;

    auto operator<=>(const KnownCollective&) const = default;
};

struct JobOfRank {
    u32 rank = 0;
    const Job* job = nullptr;
    bool by_rules = false;
};

std::vector<JobOfRank> jobs_of(const Model& model);

KnownCollective known_collective(const Model& model, const JobOfRank& of, const Op& op);

class Charges {
public:
    Charges(const Model& model, const Grid& grid);

    static bool are_in(const Model& model);

    template <class Visit>
    void for_each_pair(const KnownCollective& of, Visit&& visit);
    // Cached.
    const std::vector<u32>& way(u32 src, u32 dst);
    // By link, and dimension or label.
    void add(const KnownCollective& of, u64 times);
    const std::vector<LinkUse>& links() const { return links_; }
    const std::vector<LinkUse>& groups() const { return groups_; }
    const Ways& ways() const { return ways_; }
    // Since the last call, each once.
    std::vector<u32> take_touched();
    void clear(const std::vector<u32>& touched);

private:
    void send(u32 src, u32 dst, u64 bytes, u64 messages, u64 times);
    bool keeps(u32 link) const;
    void list_members(u32 communicator);

    const Model& model_;
    const Grid& grid_;
    Ways ways_;
    Links of_grid_;
    bool by_link_;        // the network counts a message on every link, else once a dimension
    bool keeps_links_;
    std::vector<LinkUse> links_;
    std::vector<LinkUse> groups_;
    std::vector<u32> touched_;
    std::vector<u32> path_;
    std::vector<u32> members_;
};

template <class Visit>
void Charges::for_each_pair(const KnownCollective& of, Visit&& visit) {
    const auto& timed = std::get<TimedProgram>(model_.collectives.programs[of.program].machine);
    list_members(of.communicator);
    const u32 local = timed.local;
    const u32 nodes = static_cast<u32>(members_.size()) / local;
    for (const TimedProgram::Charge& charge : *timed.charges_of(of.bytes)) {
        const auto bytes = static_cast<u64>(std::llround(charge.share * static_cast<double>(of.bytes)));
        const bool of_one = charge.from_node != none;
        for (u32 node = of_one ? charge.from_node : 0; node < (of_one ? charge.from_node + 1 : nodes); ++node) {
            const u32 to = of_one ? charge.node : (node + charge.node) % nodes;
            for (u32 place = 0; place < local; ++place) {
                visit(members_[node * local + place], members_[to * local + (place + charge.place) % local], bytes,
                      charge.messages);
            }
        }
    }
}

void add_charges(const Model& model, const Grid& grid, const std::vector<JobOfRank>& jobs, Outcome& outcome);

}  // namespace yantra
