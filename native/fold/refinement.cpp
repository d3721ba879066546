#include "fold/refinement.hpp"

#include <unordered_map>
#include <utility>
#include <vector>

#include "base/hash.hpp"
#include "base/interruption.hpp"
#include "fold/port_classes.hpp"

namespace yantra {

namespace {

RankClasses classes_by_job(const Model& model, const RankNames& names) {
    const std::vector<u32> first_equal = names.first_equal_job();
    std::vector<u32> class_of_job(first_equal.size(), none);
    std::vector<u32> first_rank;   // by class
    std::vector<u32> class_of(model.work.job_of.size());
    for (u32 rank = 0; rank < class_of.size(); ++rank) {
        u32& found = class_of_job[first_equal[model.work.job_of[rank]]];
        if (found == none) {
            found = static_cast<u32>(first_rank.size());
            first_rank.push_back(rank);
        }
        class_of[rank] = found;
    }
    RankClasses classes(std::move(class_of), static_cast<u32>(first_rank.size()));
    for (u32 i = 1; i < first_rank.size(); ++i) {
        classes.note({first_rank[i], first_rank[0], Difference::graph});
    }
    classes.date_splits();
    return classes;
}

// Classes in the order found.
struct ClassesBySignature {
    std::vector<std::vector<u64>> signature;   // by new class
    std::unordered_multimap<u64, u32> by_hash;

    std::pair<u32, bool> find_or_add(const std::vector<u64>& wanted) {
        u64 hash = 0;
        for (u64 value : wanted) {
            hash = mix(hash, value);
        }
        const auto [begin, end] = by_hash.equal_range(hash);
        for (auto it = begin; it != end; ++it) {
            if (signature[it->second] == wanted) {
                return {it->second, false};
            }
        }
        const u32 added = static_cast<u32>(signature.size());
        by_hash.emplace(hash, added);
        signature.push_back(wanted);
        return {added, true};
    }
};

}  // namespace

Refinement::Refinement(const Model& model, const RankNames& names,
                       const FoldingCapabilities& capabilities, u32 least_ranks_per_class)
    : model_(model),
      names_(names),
      capabilities_(capabilities),
      least_ranks_per_class_(least_ranks_per_class),
      grid_(model.network.dimensions, model.network.tables),
      classes_(classes_by_job(model, names)),
      neighbourhoods_(model, grid_, capabilities),
      signatures_(model, names, classes_, grid_, neighbourhoods_, budget_),
      destinations_(model, names),
      links_(grid_, [this](u32 rank, const LinkPartition::VisitDestination& visit) {
          destinations_.for_each(rank, visit);
      }) {
    if (capabilities.network.shares_by_class) {
        flows_ = std::make_unique<FlowPartition>(
            model, grid_, [this](u32 rank, const FlowPartition::VisitDestination& visit) {
                destinations_.for_each(rank, visit);
            });
    }
}

bool Refinement::run() {
    if (capabilities_.network.ports_by_class) {
        ports_follow_ranks_ = PortRule(model_, names_, grid_, destinations_).ports_follow_ranks();
    }
    bool settled = divide_ranks();
    while (settled && divides_by_links() && divide_by_links()) {
        settled = divide_ranks();
    }
    return settled && goes_on();
}

bool Refinement::divide_ranks() {
    if (nothing_can_differ()) {
        return goes_on();
    }
    while (goes_on()) {
        const bool divided = divide_by_signatures();
        budget_.spend(classes_.ranks());
        if (!divided) {
            return goes_on();
        }
        first_round_ = false;
    }
    return false;
}

// False if all members agree.
bool Refinement::divide_by_signatures() {
    signatures_.start_round(first_round_);
    ClassesBySignature found;
    std::vector<u32> first_of(classes_.count(), none);   // by old class: its first rank
    std::vector<u32> class_of(classes_.ranks());
    for (u32 rank = 0; rank < classes_.ranks() && !budget_.is_spent(); ++rank) {
        look_up();
        const auto [number, fresh] = found.find_or_add(signatures_.of(rank));
        if (fresh) {
            u32& first = first_of[classes_.of(rank)];
            if (first == none) {
                first = rank;
            } else if (classes_.wants_more_splits()) {
                classes_.note(signatures_.difference(rank, first));
            }
        }
        class_of[rank] = number;
    }
    const u32 count = static_cast<u32>(found.signature.size());
    const bool divided = count != classes_.count();
    classes_.replace(std::move(class_of), count);
    return divided;
}

bool Refinement::divide_by_links() {
    if (!divide_links()) {
        budget_.give_up();
        return false;
    }
    ClassesBySignature found;
    std::vector<u32> first_of(classes_.count(), none);   // by old class: its first rank
    std::vector<u32> class_of(classes_.ranks());
    for (u32 rank = 0; rank < classes_.ranks(); ++rank) {
        const u32 old = classes_.of(rank);
        std::vector<u64> signature = links_of(rank);
        signature.push_back(old);
        const auto [number, fresh] = found.find_or_add(signature);
        u32& first = first_of[old];
        if (first == none) {
            first = rank;
        } else if (fresh && classes_.wants_more_splits()) {
            classes_.note({rank, first, Difference::links});
        }
        class_of[rank] = number;
    }
    const u32 count = static_cast<u32>(found.signature.size());
    const bool divided = count != classes_.count();
    classes_.replace(std::move(class_of), count);
    return divided;
}

bool Refinement::divide_links() {
    return flows_ != nullptr ? flows_->divide(classes_.by_rank(), classes_.count())
                             : links_.divide(classes_.by_rank(), classes_.count());
}

std::vector<u64> Refinement::links_of(u32 rank) const {
    if (flows_ != nullptr) {
        return flows_->signature(rank);
    }
    const std::vector<u32> classes = links_.classes_on_routes(rank);
    return {classes.begin(), classes.end()};
}

// One job without names of ranks or groups, on levels that look the same from each rank, as in
// single collectives.
bool Refinement::nothing_can_differ() {
    const std::vector<JobNames>& jobs = names_.by_job();
    if (classes_.count() != 1 || jobs.size() != 1 || !jobs[0].peers.empty()) {
        return false;
    }
    for (const NamedCommunicator& named : jobs[0].communicators) {
        if (named.name != 0) {   // not all ranks, or another group for each
            return false;
        }
        for (u32 kind = 0; kind < collective_kinds; ++kind) {
            bool same = true;
            if ((named.kinds >> kind & 1) != 0) {
                model_.collectives.layout_of(named.name).for_each_plan(
                    kind, [&](u32 plan, u64) { same = same && looks_same_from_each(plan); });
            }
            if (!same) {
                return false;
            }
        }
    }
    return true;
}

bool Refinement::looks_same_from_each(u32 plan_index) {
    const Plan& plan = model_.collectives.plans[plan_index];
    for (u32 at = 0; at < plan.levels.size(); ++at) {
        const Level& level = plan.levels[at];
        if (level.size > 1 && (neighbourhoods_.of(plan_index, at).by_position ||
                               !neighbourhoods_.looks_same_from_each(plan, level))) {
            return false;
        }
    }
    return true;
}

}  // namespace yantra
