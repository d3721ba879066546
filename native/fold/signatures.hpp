// Signatures: what the ranks of a class must have in common, as numbers, for one round; subjects
// are kept to explain differences.
#pragma once

#include <map>
#include <unordered_map>
#include <utility>
#include <vector>

#include "fold/neighbourhoods.hpp"
#include "fold/rank_classes.hpp"
#include "fold/rank_names.hpp"
#include "fold/search_budget.hpp"

namespace yantra {

class Signatures {
public:
    Signatures(const Model& model, const RankNames& names, const RankClasses& classes,
               const Grid& grid, Neighbourhoods& neighbourhoods, SearchBudget& budget)
        : model_(model), names_(names), classes_(classes), grid_(grid),
          neighbourhoods_(neighbourhoods), budget_(budget) {}

    // Only the first round compares distances, which never change.
    void start_round(bool compares_distances);
    // Valid until the next call.
    const std::vector<u64>& of(u32 rank);
    Split difference(u32 rank, u32 other);

private:
    struct Subject {
        Difference difference;
        u32 communicator;
    };

    void add_communicator(u32 rank, u32 index);
    void add_level(u32 rank, u32 communicator, u32 plan, u32 level);
    void add_peers(u32 rank);
    void put(u64 value, Difference difference, u32 communicator = none) {
        values_.push_back(value);
        subjects_.push_back({difference, communicator});
    }
    u64 class_and_index(u32 rank, u32 communicator) const {
        return u64{classes_.of(rank)} << 32U | names_.communicator_index(rank, communicator);
    }
    u64 members_number(u32 communicator, const Place& place);
    u64 common_class_and_index(u32 communicator, u32 plan, u32 level, const Place& place);

    const Model& model_;
    const RankNames& names_;
    const RankClasses& classes_;
    const Grid& grid_;
    Neighbourhoods& neighbourhoods_;
    SearchBudget& budget_;
    bool compares_distances_ = true;
    std::vector<u64> values_;
    std::vector<Subject> subjects_;   // of the values
    std::unordered_map<u64, u64> common_;   // of the round, like the next two
    std::unordered_map<u64, u64> number_of_members_;   // by communicator and base
    std::map<std::vector<u64>, u64> numbers_;
};

}  // namespace yantra
