#include "collective/runtime/planner.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/ensure.hpp"

namespace yantra {

namespace {

bool has_root_at_end(CollectiveKind kind) {
    return kind == CollectiveKind::reduce || kind == CollectiveKind::gather;
}

bool has_root_at_start(CollectiveKind kind) {
    return kind == CollectiveKind::broadcast || kind == CollectiveKind::scatter;
}

}  // namespace

Planner::Planner(const CollectiveParameters& parameters, const Semantics& semantics, const Grid& grid,
                 const Actors& actors)
    : parameters_(parameters),
      semantics_(semantics),
      grid_(grid),
      actors_(actors),
      queues_per_set_(queues_per_set(parameters)) {
    const u32 queues = parameters.system.queues_per_dimension;
    OfActor fresh;
    fresh.robin.resize(grid.dimensions());
    for (RoundRobin& robin : fresh.robin) {
        robin.last = queues > 1 ? queues / 2 : 0;
    }
    fresh.chunks.resize(actors.communicator_classes());
    state_.actors.assign(actors.count(), fresh);
}

void Planner::collective_starts(ActorId actor, u32 communicator, const Plan& plan, u64 now) {
    if (!balances() || !plan.shared_load) {
        return;
    }
    Themis& themis = themis_of(plan, communicator);
    const bool is_lowest = actors_.rank(actor).index() == parameters_.communicators[communicator].base;
    // Upstream's rank 0 restarts, however late it comes, so rank numbers decide.
    if (semantics_.quirks.phases_as_ready ? is_lowest : themis.is_next(chunks_made(actor, communicator))) {
        themis.collective_starts(now);
    }
}

bool Planner::is_balanced(const CollectiveRequest& request, const Plan& plan, const Cut& cut) const {
    return balances() && plan.shared_load && cut.left > 0 &&
           (gathers_or_scatters(request.kind) || request.kind == CollectiveKind::all_reduce);
}

bool Planner::cuts_alike(CollectiveKind kind, const Plan& plan) const {
    return !balances() && chunks_are_alike(plan) && !has_root_at_start(kind) && !has_root_at_end(kind);
}

Themis& Planner::themis_of(const Plan& plan, u32 communicator) {
    const auto known = themis_.find(communicator);
    if (known != themis_.end()) {
        return known->second;
    }
    std::vector<Themis::Along> levels;
    for (u32 d = 0; plan.masked && d < grid_.dimensions(); ++d) {
        levels.push_back({grid_.dimension(d).size, grid_.dimension(d).weight});
    }
    for (u32 at = 0; !plan.masked && at < plan.levels.size(); ++at) {
        levels.push_back({plan.levels[at].size, grid_.dimension(plan.levels[at].dimension).weight});
    }
    const bool flexible = parameters_.system.inter_dimension == InterDimension::themis_flex;
    return themis_.try_emplace(communicator, std::move(levels), plan.communicator_size, flexible).first->second;
}

u64 Planner::take_balanced(const CollectiveRequest& request, const Plan& plan, Cut& cut) {
    const u64 number = chunks_made(request.actor, request.communicator);
    const u64 involved = plan.masked ? request.involved : ~u64{0};
    ThemisDecision decision = themis_of(plan, request.communicator)
                                  .choose(number, cut.left, cut.chunk, request.kind, involved);
    overdrawn_ |= decision.bytes > cut.left;   // ranks may disagree on how much there is
    const u64 taken = std::min(decision.bytes, cut.left);
    cut.left -= taken;
    order_ = std::move(decision.order);
    return taken;
}

void Planner::order_levels(const CollectiveRequest& request, const Plan& plan) {
    order_.resize(plan.levels.size());
    for (u32 level = 0; level < order_.size(); ++level) {
        order_[level] = level;
    }
    if (!plan.in_stages && (request.kind == CollectiveKind::all_gather || request.kind == CollectiveKind::gather ||
                            request.kind == CollectiveKind::broadcast)) {
        std::reverse(order_.begin(), order_.end());
    }
    if (rotates(plan)) {
        const u32 turns = turns_before(request, static_cast<u32>(order_.size()));
        std::rotate(order_.begin(), order_.begin() + turns, order_.end());
    }
}

// By the chunk's number in its communicator, so that members agree. Upstream counts every chunk of
// a rank.
u32 Planner::turns_before(const CollectiveRequest& request, u32 levels) {
    if (!semantics_.quirks.phases_as_ready) {
        return static_cast<u32>(chunks_made(request.actor, request.communicator) % levels);
    }
    u32& rotation = state_.actors[request.actor].rotation;
    const u32 turns = rotation % levels;
    rotation = (rotation + 1) % levels;
    return turns;
}

void Planner::plan_phases(const CollectiveRequest& request, const Plan& plan, u64 data,
                          bool balanced) {
    const Member member{request.actor, request.communicator, plan};
    ++plans_;
    phases_.clear();
    usable_.clear();
    for (u32 level : order_) {
        const u32 dimension = plan.levels[level].dimension;
        const bool involved = !plan.masked || (request.involved >> dimension & 1) != 0;
        if (involved && plan.levels[level].size > 1) {
            usable_.push_back(level);
        }
    }
    ensure(!usable_.empty(), "a collective over no dimension");
    const bool hierarchical =
        request.kind == CollectiveKind::all_reduce && parameters_.system.local_bw_aware && !plan.in_stages;
    if (!hierarchical) {
        for (u32 level : usable_) {
            add_phase(member, level, request.kind, Half::any, data);
        }
        leave_out_phases(member, request.kind);
        return;
    }
    const std::size_t scattered = balanced ? usable_.size() : usable_.size() - 1;
    for (std::size_t i = 0; i < scattered; ++i) {
        add_phase(member, usable_[i], CollectiveKind::reduce_scatter, Half::first, data);
    }
    if (!balanced) {
        add_phase(member, usable_.back(), CollectiveKind::all_reduce, Half::first, data);
    }
    for (std::size_t i = scattered; i-- > 0;) {
        add_phase(member, usable_[i], CollectiveKind::all_gather, Half::last, data);
    }
}

// With a root: towards it if first in all earlier phases, from it if first in all later ones.
void Planner::leave_out_phases(const Member& member, CollectiveKind kind) {
    const bool to_root = has_root_at_end(kind);
    if (member.plan.in_stages || (!to_root && !has_root_at_start(kind))) {
        return;
    }
    bool idle = false;
    for (std::size_t i = 0; i < phases_.size(); ++i) {
        Phase& phase = phases_[to_root ? i : phases_.size() - 1 - i];
        phase.idle = idle;
        const Place place = place_on(member.plan, phase.level, member.communicator, member.actor);
        idle = idle || place.position != 0;
    }
}

void Planner::add_phase(const Member& member, u32 level_index, CollectiveKind kind, Half half,
                        u64& data) {
    const Level& level = member.plan.levels[level_index];
    Phase& phase = phases_.emplace_back();
    phase.data = data;
    phase.level = level_index;
    phase.kind = kind;
    phase.fixed_hand_over = level.fixed_hand_over;
    phase.program = level.program[static_cast<std::size_t>(kind)];
    if (level.alternation != none && takes_alternate(member, level)) {
        phase.program = level.alternate[static_cast<std::size_t>(kind)];
    }
    ensure(phase.program != no_program, "a phase without a program");
    const auto turn = static_cast<u32>(chunks_made(member.actor, member.communicator) % level.lanes);
    const u32 lane = member.plan.in_stages
                         ? lanes_before(member.plan, level_index) + turn
                         : level.dimension + turn * parameters_.dimensions;
    phase.queue = parameters_.queue_sets[member.communicator] * queues_per_set_ +
                  lane * parameters_.system.queues_per_dimension;
    if (semantics_.quirks.half_queues) {
        choose_queue_by_half(member.actor, level.dimension, half, phase);
    } else {
        choose_queue_by_chunk(member, half, phase);
    }
    const Program& program = parameters_.programs[phase.program];
    if (gathers_or_scatters(kind) && program.result.num == program.result.den) {
        phase.kind = CollectiveKind::all_reduce;
    }
    data = program.result.of(data, program.round_up);
}

// Upstream counts the phases of each rank.
bool Planner::takes_alternate(const Member& member, const Level& level) {
    const u64 number = semantics_.quirks.phases_as_ready
                           ? next_alternation(member, level)
                           : chunks_made(member.actor, member.communicator);
    return number % 2 != 0;
}

u64 Planner::next_alternation(const Member& member, const Level& level) {
    std::vector<AlternationCount>& counts = state_.actors[member.actor].alternations;
    const u32 base = member.plan.over_members ? parameters_.communicators[member.communicator].base : 0;
    auto found = std::find_if(counts.begin(), counts.end(), [&](const AlternationCount& c) {
        return c.counter == level.alternation && c.base == base;
    });
    if (found == counts.end()) {
        found = counts.insert(found, {level.alternation, base, 0});
    }
    return found->count++;
}

// Over all communicators.
void Planner::choose_queue_by_half(ActorId actor, u32 dimension, Half half, Phase& phase) {
    const u32 queues = parameters_.system.queues_per_dimension;
    RoundRobin& robin = state_.actors[actor].robin[dimension];
    u32 queue;
    if (half == Half::any) {
        queue = robin.any;
        robin.any = queue + 1 == queues ? 0 : queue + 1;
        phase.clockwise = queues == 1 || queue < queues / 2;
    } else if (half == Half::first) {
        queue = robin.first;
        robin.first = queue + 1 < queues / 2 ? queue + 1 : 0;
        phase.clockwise = true;
    } else {
        queue = robin.last;
        robin.last = queues > 1 && robin.last + 1 < queues ? robin.last + 1
                     : queues > 1                          ? queues / 2
                                                           : 0;
        phase.clockwise = false;
    }
    phase.queue += queue;
}

void Planner::choose_queue_by_chunk(const Member& member, Half half, Phase& phase) {
    const u32 queues = parameters_.system.queues_per_dimension;
    const u64 number = chunks_made(member.actor, member.communicator);
    const u32 queue = static_cast<u32>(number % queues);
    phase.clockwise = half == Half::any ? queues == 1 || queue < queues / 2 : half == Half::first;
    phase.queue += queue;
}

PhaseInput Planner::input_of(const Phase& phase, ActorId actor, u32 plan_index,
                             u32 communicator) const {
    const Plan& plan = parameters_.plans[plan_index];
    return {.actor = actor,
            .program = parameters_.programs[phase.program],
            .data = phase.data,
            .place = place_on(plan, phase.level, communicator, actor),
            .clockwise = phase.clockwise,
            .fixed_hand_over = phase.fixed_hand_over,
            .plan = plan_index,
            .level = phase.level,
            .communicator = plan.over_members ? communicator : none,
            .table = none,
            .member = none,
            .phase = 0,
            .tag = 0,
            .number = 0,
            .node = none};
}

u32 Planner::member_of(u32 plan_index, u32 communicator, ActorId actor) const {
    const Plan& plan = parameters_.plans[plan_index];
    if (plan.communicator_size == grid_.ranks()) {
        return actors_.rank(actor).index();
    }
    u32 member = 0;
    const std::size_t apart =
        plan.over_members ? 1 : plan.levels.size();  // else every level has all members
    for (u32 level = 0; level < apart; ++level) {
        const Place place = place_on(plan, level, communicator, actor);
        member += place.position * place.index_stride;
    }
    return member;
}

}  // namespace yantra
