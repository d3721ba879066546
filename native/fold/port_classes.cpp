#include "fold/port_classes.hpp"

#include <algorithm>
#include <variant>

namespace yantra {

bool PortRule::ports_follow_ranks() {
    seen_.assign(model_.collectives.communicators.size(), 0);
    for (u32 rank = 0; rank < grid_.ranks(); ++rank) {
        const JobNames& named = names_.of(rank);
        for (u32 index = 0; index < named.communicators.size(); ++index) {
            const u32 communicator = names_.communicator(rank, index);
            const u32 fresh = named.communicators[index].kinds & ~seen_[communicator];
            if (fresh != 0 && !collectives_do(communicator, fresh)) {
                return false;
            }
        }
        for (u32 index = 0; index < named.peers.size(); ++index) {
            if (named.sends[index] && !pair_does(rank, names_.peer(rank, index))) {
                return false;
            }
        }
    }
    return true;
}

bool PortRule::collectives_do(u32 communicator, u32 kinds) {
    seen_[communicator] |= kinds;
    bool all = true;
    for (u32 kind = 0; kind < collective_kinds; ++kind) {
        if ((kinds >> kind & 1) != 0) {
            model_.collectives.layout_of(communicator).for_each_plan(
                kind, [&](u32 plan, u64) {
                    all = all && plan_does(model_.collectives.plans[plan], communicator, kind);
                });
        }
    }
    return all;
}

bool PortRule::plan_does(const Plan& plan, u32 communicator, u32 kind) const {
    if (plan.over_members) {
        return members_do(communicator);
    }
    return std::all_of(plan.levels.begin(), plan.levels.end(),
                       [&](const Level& level) { return level.size <= 1 || level_does(level, kind); });
}

bool PortRule::level_does(const Level& level, u32 kind) const {
    for (u32 d = 0; d < grid_.dimensions(); ++d) {
        const Dimension& dimension = grid_.dimension(d);
        const u64 line = u64{grid_.stride(d)} * dimension.size;
        const u64 span = u64{level.stride} * level.size;
        if (dimension.size == 1 || level.stride % grid_.stride(d) != 0 || line % span != 0) {
            continue;
        }
        if (dimension.block == Block::switched) {
            return true;
        }
        return dimension.block == Block::ring && level.stride == grid_.stride(d) && span == line &&
               goes_to_neighbours(level, kind);
    }
    return false;
}

bool PortRule::goes_to_neighbours(const Level& level, u32 kind) const {
    const std::vector<u32> programs = destinations_.programs_of(level, kind);
    return std::all_of(programs.begin(), programs.end(), [this](u32 number) {
        const auto& machine = model_.collectives.programs[number].machine;
        const auto* const exchange = std::get_if<ExchangeProgram>(&machine);
        return std::holds_alternative<TimedProgram>(machine) || (exchange != nullptr && exchange->neighbours_only);
    });
}

bool PortRule::members_do(u32 communicator) const {
    const Communicator& of = model_.collectives.communicators[communicator];
    const Shape& shape = *model_.collectives.layouts[of.layout].shape;
    const u32 first = of.base + shape.offset(0);
    for (u32 at = 1; at < shape.size(); ++at) {
        if (!pair_does(first, of.base + shape.offset(at)) ||
            grid_.lowest_difference(first, of.base + shape.offset(at)) !=
                grid_.lowest_difference(first, of.base + shape.offset(1))) {
            return false;
        }
    }
    return true;
}

bool PortRule::pair_does(u32 from, u32 to) const {
    const auto [d, at, there] = grid_.first_crossing(from, to);
    const u32 along = from + (there - at) * grid_.stride(d);
    return grid_.dimension(d).block == Block::switched &&
           (along == to || model_.semantics.quirks.lowest_dimension_only);
}

}  // namespace yantra
