#include "model/builder.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "base/ensure.hpp"
#include "base/too_long.hpp"
#include "model/model_check.hpp"
#include "workload/checks.hpp"

namespace yantra {

namespace {

std::vector<u32> sums_of(const std::vector<OffsetAxis>& axes) {
    std::vector<u32> offsets{0};
    for (const OffsetAxis& axis : axes) {
        ensure(axis.listed.empty() || axis.listed.size() == axis.count,
               "model builder: an axis lists another number of offsets than it has");
        const std::vector<u32> before = std::move(offsets);
        offsets.clear();
        for (u32 at = 0; at < axis.count; ++at) {
            for (u32 offset : before) {
                offsets.push_back(offset + (axis.listed.empty() ? at * axis.stride : axis.listed[at]));
            }
        }
    }
    return offsets;
}

std::vector<u32> places_of_bits(u64 bits) {
    std::vector<u32> places;
    for (u32 at = 0; bits >> at != 0; ++at) {
        if ((bits >> at & 1) != 0) {
            places.push_back(at);
        }
    }
    return places;
}

}  // namespace

ModelBuilder::ModelBuilder(TimeScale scale) : model_(std::make_shared<Model>()) {
    model_->semantics.scale = scale;
}

Model& ModelBuilder::model() {
    ensure(model_ != nullptr, "model builder: used after build()");
    return *model_;
}

const Model& ModelBuilder::model() const {
    ensure(model_ != nullptr, "model builder: used after build()");
    return *model_;
}

void ModelBuilder::add_dimension(const Dimension& dimension, std::shared_ptr<const BlockTable> table) {
    ensure((dimension.block == Block::table) == (table != nullptr),
           "model builder: a dimension has a table if its block is one");
    model().network.dimensions.push_back(dimension);
    model().network.tables.push_back(std::move(table));
    ++model().collectives.dimensions;
}

void ModelBuilder::set_fabric(std::shared_ptr<const FabricGraph> graph, RoutingChoice routing,
                              std::vector<u32> placement) {
    ensure(graph != nullptr, "model builder: a fabric without a graph");
    make_routing(*graph, routing);
    if (placement.empty()) {
        placement.resize(model().ranks());
        std::iota(placement.begin(), placement.end(), 0);
    }
    std::vector<bool> is_taken(graph->ranks());
    for (u32 rank = 0; rank < placement.size(); ++rank) {
        if (placement[rank] >= graph->ranks() || is_taken[placement[rank]]) {
            throw std::invalid_argument("placement: rank " + std::to_string(rank) + " is on device " +
                                        std::to_string(placement[rank]) +
                                        ", which is taken or not there; the fabric has " +
                                        std::to_string(graph->ranks()));
        }
        is_taken[placement[rank]] = true;
    }
    model().network.fabric = std::move(graph);
    model().network.routing = std::move(routing);
    model().network.placement = std::move(placement);
}

void ModelBuilder::set_link_changes(std::vector<LinkChange> changes, u64 reroute_delay) {
    ensure(model().network.fabric != nullptr, "model builder: links change before there is a fabric");
    u64 before = 0;
    for (const LinkChange& change : changes) {
        if (change.link >= model().network.fabric->links() || change.tick < before || !(change.bytes_per_ns >= 0.0) ||
            !std::isfinite(change.bytes_per_ns)) {
            throw std::invalid_argument(
                "link changes: expected links of the fabric and rates of 0 or more, in order of time");
        }
        before = change.tick;
    }
    model().network.link_changes = std::move(changes);
    model().network.reroute_delay = reroute_delay;
}

u32 ModelBuilder::add_switch(u32 device) {
    const FabricGraph* const fabric = model().network.fabric.get();
    ensure(fabric != nullptr && device >= fabric->ranks() && device < fabric->devices(),
           "model builder: a switch that is not there");
    std::vector<u32>& placement = model().network.placement;
    const auto known = std::find(placement.begin() + model().ranks(), placement.end(), device);
    const u32 number = static_cast<u32>(known - placement.begin());
    if (known == placement.end()) {
        placement.push_back(device);
    }
    return number;
}

void ModelBuilder::set_formula_groups(const std::vector<u32>& groups) {
    const std::size_t there =
        model().network.fabric != nullptr ? model().network.fabric->labels().size() : model().network.dimensions.size();
    model().network.formula_groups.assign(groups.empty() ? 0 : there, false);
    for (u32 group : groups) {
        if (group >= there) {
            throw std::invalid_argument("tiers: expected labels of the fabric, or dimensions");
        }
        model().network.formula_groups[group] = true;
    }
}

void ModelBuilder::set_background(std::vector<BackgroundFlow> flows) {
    const u32 hosts = model().network.fabric != nullptr ? model().network.fabric->ranks() : model().ranks();
    u64 before = 0;
    for (const BackgroundFlow& flow : flows) {
        if (flow.from >= hosts || flow.to >= hosts || flow.from == flow.to || flow.tick < before) {
            throw std::invalid_argument("background: expected flows between two hosts, in order of time");
        }
        before = flow.tick;
    }
    model().network.background = std::move(flows);
}

void ModelBuilder::set_slow_spells(std::vector<SlowSpell> spells) {
    std::pair<u32, u64> before{0, 0};
    for (const SlowSpell& spell : spells) {
        if (spell.rank >= model().ranks() || std::pair{spell.rank, spell.from} < before ||
            spell.until <= spell.from || !(spell.factor > 0.0) || !std::isfinite(spell.factor)) {
            throw std::invalid_argument(
                "slow spells: expected factors above 0 and spells of ranks by time that do not overlap");
        }
        before = {spell.rank, spell.until};
    }
    model().work.slow_spells = std::move(spells);
}

void ModelBuilder::set_begins(std::vector<u64> begins) {
    if (begins.size() != model().ranks() ||
        std::ranges::any_of(begins, [](u64 tick) { return tick > latest_tick; })) {
        throw std::invalid_argument("begins: expected a tick that a run may reach for each rank");
    }
    model().work.begins = std::move(begins);
}

AddedLayout ModelBuilder::add_layout(const std::vector<OffsetAxis>& axes, bool ascending) {
    std::vector<u32> offsets = sums_of(axes);
    ensure(!offsets.empty(), "model builder: a layout without members");
    ensure(!model().network.dimensions.empty(), "model builder: dimensions come before layouts");
    if (ascending) {
        std::sort(offsets.begin(), offsets.end());
    }
    GroupLayout layout;
    layout.shape = std::make_shared<const Shape>(std::move(offsets));
    Span span = span_of(model(), *layout.shape);
    AddedLayout added;
    added.id = layouts_.next();
    added.lowest = span.lowest;
    if (span.whole) {
        added.whole = places_of_bits(*span.whole);
    }
    if (!span.coordinates.empty()) {
        added.coordinates = std::move(span.coordinates);
        added.aligned = LayoutId(added.id.index() + 1);
        model().collectives.layouts.push_back(layout);
        layouts_.add(added);
    }
    model().collectives.layouts.push_back(std::move(layout));
    layouts_.add(added);
    return added;
}

LayoutId ModelBuilder::add_split(LayoutId layout) {
    ensure(layouts_.has(layout), "model builder: no such layout");
    AddedLayout added;
    added.id = layouts_.next();
    added.lowest = layouts_[layout].lowest;
    GroupLayout split;
    split.shape = model().collectives.layouts[layout.index()].shape;
    model().collectives.layouts.push_back(std::move(split));
    layouts_.add(added);
    return added.id;
}

CommunicatorId ModelBuilder::add_communicator(LayoutId layout, u32 base, u64 first_chunk) {
    const u32 index = static_cast<u32>(model().collectives.communicators.size());
    add_family({layout, index, first_chunk, 0, base, {}, 1, {}});
    return CommunicatorId(index);
}

void ModelBuilder::add_family(const AddedFamily& family) {
    ensure(layouts_.has(family.layout), "model builder: no such layout");
    const AddedLayout& layout = layouts_[family.layout];
    ensure(family.inner > 0, "model builder: nodes without ranks");
    const LayoutId aligned = layout.aligned.is_none() ? layout.id : layout.aligned;
    std::vector<u32> farthest;
    for (const std::vector<u32>& coordinates : layout.coordinates) {
        farthest.push_back(coordinates.back());
    }
    std::vector<std::pair<u32, u32>> split;
    for (const auto& [place, other] : family.split) {
        ensure(layouts_.has(other), "model builder: no such layout");
        split.emplace_back(place, other.index());
    }
    add_communicators(model(), {family.first_index, family.first_chunk, family.chunks_each, family.base,
                                family.axes, layout.id.index(), aligned.index(), std::move(farthest),
                                family.inner, std::move(split)});
}

LayoutId ModelBuilder::layout_of(CommunicatorId communicator) const {
    ensure(communicator.index() < model().collectives.communicators.size(), "model builder: no such communicator");
    return LayoutId(model().collectives.communicators[communicator.index()].layout);
}

CommunicatorId ModelBuilder::communicator(u32 index) const {
    ensure(index < model().collectives.communicators.size(), "model builder: no communicator has that number");
    return CommunicatorId(index);
}

void ModelBuilder::share_queue_sets() {
    model().collectives.queue_sets.assign(model().collectives.communicators.size(), 0);
}

void ModelBuilder::set_slots(ResourceMap slots, u8 first, std::optional<u8> send_to_all) {
    const std::size_t count = model().collectives.communicators.size();
    ensure(model().collectives.queue_sets.size() == count, "model builder: slots come after the numbers of queue sets");
    slots.collective.assign(count, first);
    if (send_to_all) {
        for (std::size_t at = 0; at < count; ++at) {
            slots.collective[at] = static_cast<u8>(first + model().collectives.queue_sets[at]);
        }
    }
    slots.send = slots.collective;
    slots.send.at(0) = send_to_all.value_or(first);
    model().work.resources = std::move(slots);
}

ProgramId ModelBuilder::add_program(Program program) {
    if (const auto* timed = std::get_if<TimedProgram>(&program.machine)) {
        const auto& points = timed->points;
        const auto ascends = [](const TimedProgram::Point& a, const TimedProgram::Point& b) {
            return a.bytes >= b.bytes;
        };
        ensure(!points.empty() && std::adjacent_find(points.begin(), points.end(), ascends) == points.end(),
               "model builder: points of a known time that do not ascend");
        ensure(std::all_of(points.begin(), points.end(), [](const auto& p) { return p.ticks > 0; }),
               "model builder: a phase that takes no time");
        ensure(timed->local > 0 && (timed->charges.empty() || timed->charges.front().bytes == 0),
               "model builder: charges that do not begin with the first byte");
    }
    model().collectives.programs.push_back(std::move(program));
    return ProgramId(static_cast<u32>(model().collectives.programs.size() - 1));
}

PhaseCounterId ModelBuilder::add_phase_counter() {
    model();
    return PhaseCounterId(phase_counters_++);
}

CustomId ModelBuilder::add_custom(const std::vector<std::shared_ptr<const Graph>>& graphs,
                                  bool over_members) {
    CustomCollective custom;
    custom.over_members = over_members;
    custom.hash_order = model().semantics.quirks.hash_order_custom;
    for (const std::shared_ptr<const Graph>& graph : graphs) {
        custom.positions.push_back(prepare_custom(graph));
    }
    model().collectives.custom.push_back(std::move(custom));
    return CustomId(static_cast<u32>(model().collectives.custom.size() - 1));
}

u32 ModelBuilder::checked(ProgramId program) const {
    ensure(program.index() < model().collectives.programs.size(), "model builder: no such program");
    return program.index();
}

void ModelBuilder::set_programs(std::array<u32, collective_kinds>& by_kind,
                                const Programs& programs) const {
    by_kind.fill(no_program);
    for (const auto& [kind, program] : programs) {
        by_kind[static_cast<std::size_t>(kind)] = checked(program);
    }
}

PlanId ModelBuilder::add_plan(const AddedPlan& added) {
    Plan plan;
    for (const AddedLevel& from : added.levels) {
        ensure(from.counter.is_none() || from.counter.index() < phase_counters_,
               "model builder: no such counter of phases");
        ensure(from.dimension < model().network.dimensions.size(), "model builder: no such dimension");
        ensure(from.size > 0 && from.stride > 0, "model builder: a level without members");
        Level& level = plan.levels.emplace_back();
        level.size = from.size;
        level.stride = from.stride;
        level.index_stride = from.index_stride;
        level.dimension = from.dimension;
        if (!added.lanes.empty()) {
            level.lanes = added.lanes.at(plan.levels.size() - 1);
            ensure(level.lanes > 0, "model builder: a level without queues");
        }
        if (!from.coordinates.empty()) {
            level.extent = model().network.dimensions[from.dimension].size;
            ensure(from.coordinates.size() == from.size && from.coordinates.front() == 0 &&
                       from.coordinates.back() < level.extent,
                   "model builder: a level whose members are not on its dimension");
            level.members = std::make_shared<const Shape>(from.coordinates);
        }
        level.fixed_hand_over = from.fixed_hand_over;
        set_programs(level.program, from.programs);
        set_programs(level.alternate, from.alternates);
        level.alternation = from.counter.index();
    }
    ensure(added.custom.is_none() || added.custom.index() < model().collectives.custom.size(),
           "model builder: no such custom collective");
    plan.over_members = added.over_members;
    plan.communicator_size = added.communicator_size;
    plan.custom = added.custom.index();
    plan.masked = added.masked;
    plan.shared_load = added.shared_load;
    plan.in_stages = added.in_stages;
    plan.chunks = added.chunks;
    model().collectives.plans.push_back(std::move(plan));
    return PlanId(static_cast<u32>(model().collectives.plans.size() - 1));
}

void ModelBuilder::set_plan(LayoutId layout, CollectiveKind kind, PlanId plan, u64 from_bytes) {
    ensure(layouts_.has(layout), "model builder: no such layout");
    ensure(plan.index() < model().collectives.plans.size(), "model builder: no such plan");
    GroupLayout& of = model().collectives.layouts[layout.index()];
    const std::size_t at = static_cast<std::size_t>(kind);
    if (from_bytes == 0) {
        of.plan[at] = plan.index();
        return;
    }
    const bool ascends = std::none_of(of.larger.begin(), of.larger.end(), [&](const PlanFrom& from) {
        return from.kind == at && from.bytes >= from_bytes;
    });
    ensure(of.plan[at] != none && ascends, "model builder: plans by size that do not ascend");
    of.larger.push_back({at, from_bytes, plan.index()});
}

void ModelBuilder::set_partial_plan(LayoutId layout, CollectiveKind kind, PlanId plan) {
    ensure(layouts_.has(layout), "model builder: no such layout");
    ensure(plan.index() < model().collectives.plans.size(), "model builder: no such plan");
    model().collectives.layouts[layout.index()].partial[static_cast<std::size_t>(kind)] = plan.index();
}

Assignment ModelBuilder::assign(const std::vector<TemplateUse>& templates,
                                const std::vector<u32>& template_of) const {
    for (u32 at : template_of) {
        ensure(at < templates.size(), "model builder: a rank of a template that is not there");
    }
    return yantra::assign(model(), templates, template_of);
}

void ModelBuilder::set_jobs(std::vector<std::shared_ptr<const Job>> jobs, std::vector<u32> job_of) {
    model().work.rules.assign(jobs.size(), nullptr);
    model().work.distinct_jobs = std::move(jobs);
    model().work.job_of = std::move(job_of);
}

void ModelBuilder::set_role_jobs(const Assignment& assignment,
                                 std::vector<std::shared_ptr<const Job>> jobs) {
    set_jobs(std::move(jobs), assignment.role_of);
    model().work.rules.clear();
    for (const Assignment::Role& role : assignment.roles) {
        model().work.rules.push_back(role.rules);
    }
}

std::optional<RankProblems> ModelBuilder::check_ranks() const {
    check_jobs(model());
    return yantra::check_ranks(model());
}

std::vector<Problem> ModelBuilder::check_job(const Job& job, u32 rank) const {
    const auto is_member = [this, rank](u32 communicator) {
        return model().collectives.is_member(rank, communicator);
    };
    return check_rank(job, rank, model().ranks(), is_member);
}

std::shared_ptr<const Model> ModelBuilder::build() {
    check_model(model());
    return std::exchange(model_, nullptr);
}

}  // namespace yantra
