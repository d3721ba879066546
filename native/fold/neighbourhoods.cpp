#include "fold/neighbourhoods.hpp"

#include <algorithm>
#include <cstdlib>
#include <variant>
#include <vector>

namespace yantra {

namespace {

std::vector<u64> content_of(const Plan& plan) {
    std::vector<u64> content{plan.communicator_size, plan.masked,    plan.shared_load,
                             !plan.over_members,     plan.in_stages, plan.chunks};
    for (const Level& level : plan.levels) {
        content.insert(content.end(), {level.size, level.stride, level.index_stride, level.dimension,
                                       level.fixed_hand_over, level.alternation, level.extent, level.lanes});
        for (u32 at = 0; level.members != nullptr && at < level.members->size(); ++at) {
            content.push_back(level.members->offset(at));
        }
        content.insert(content.end(), level.program.begin(), level.program.end());
        content.insert(content.end(), level.alternate.begin(), level.alternate.end());
    }
    return content;
}

void sort_and_deduplicate(std::vector<Offset>& offsets) {
    std::sort(offsets.begin(), offsets.end(), [](const Offset& a, const Offset& b) {
        return std::pair{a.by_xor, a.by} < std::pair{b.by_xor, b.by};
    });
    offsets.erase(std::unique(offsets.begin(), offsets.end()), offsets.end());
}

}  // namespace

u32 neighbour(const Place& place, const Offset& offset) {
    const i64 n = place.size;
    const i64 at = offset.by_xor ? i64{partner_of(place.position, static_cast<u32>(offset.by), place.size)}
                                 : ((i64{place.position} + offset.by) % n + n) % n;
    return place.rank_at(static_cast<u32>(at));
}

u32 Neighbourhoods::plan_number(u32 plan) {
    const auto known = number_of_plan_.find(plan);
    if (known != number_of_plan_.end()) {
        return known->second;
    }
    const auto [entry, fresh] =
        number_of_content_.try_emplace(content_of(model_.collectives.plans[plan]), number_of_content_.size());
    number_of_plan_.emplace(plan, entry->second);
    return entry->second;
}

const Neighbourhood& Neighbourhoods::of(u32 plan, u32 level_index) {
    const auto [entry, fresh] = neighbourhoods_.try_emplace({plan_number(plan), level_index});
    Neighbourhood& found = entry->second;
    if (!fresh) {
        return found;
    }
    const Level& level = model_.collectives.plans[plan].levels[level_index];
    std::vector<u32> programs(level.program.begin(), level.program.end());
    programs.insert(programs.end(), level.alternate.begin(), level.alternate.end());
    for (u32 number : programs) {
        if (number == no_program) {
            continue;
        }
        if (std::holds_alternative<TimedProgram>(model_.collectives.programs[number].machine)) {
            found.waits_for_all = true;
            continue;
        }
        const auto* machine = std::get_if<ExchangeProgram>(&model_.collectives.programs[number].machine);
        if (machine == nullptr) {
            found.by_position = true;
            continue;
        }
        for (const Run& run : machine->runs) {
            for (i32 by : {run.out, run.into, -run.out, -run.into}) {
                found.offsets.push_back({run.by_xor ? std::abs(by) : by, run.by_xor});
            }
        }
    }
    sort_and_deduplicate(found.offsets);
    return found;
}

bool Neighbourhoods::looks_same_from_each(const Plan& plan, const Level& level) const {
    return !plan.over_members && capabilities_.uniform_dimension[level.dimension] &&
           level.size == grid_.dimension(level.dimension).size &&
           level.stride == grid_.stride(level.dimension);
}

u64 Neighbourhoods::distance(u32 from, u32 to) {
    std::vector<u64> crossed;
    for (u32 d = grid_.lowest_difference(from, to); d < grid_.dimensions(); ++d) {
        const u32 a = grid_.coordinate(from, d);
        const u32 b = grid_.coordinate(to, d);
        if (a != b) {
            crossed.insert(crossed.end(), {d, grid_.hops(d, a, b)});
        }
        if (capabilities_.network.lowest_dimension_only && !crossed.empty()) {
            break;
        }
    }
    return distances_.try_emplace(std::move(crossed), distances_.size()).first->second;
}

}  // namespace yantra
