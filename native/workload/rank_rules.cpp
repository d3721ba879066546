#include "workload/rank_rules.hpp"

#include <utility>
#include <vector>

namespace yantra {

AxisSum::AxisSum(u32 first_rank, u32 base, bool relative, std::vector<Axis> axes)
    : first_rank_(first_rank), base_(base), relative_(relative), axes_(std::move(axes)) {}

RankTables tables_of(const RankRules& rules, u32 rank) {
    RankTables tables;
    tables.communicators.push_back(0);
    for (const AxisSum& rule : rules.communicators) {
        tables.communicators.push_back(rule.of(rank));
    }
    for (const AxisSum& rule : rules.peers) {
        tables.peers.push_back(rule.of(rank));
    }
    return tables;
}

}  // namespace yantra
