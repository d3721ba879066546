// ModelBuilder: takes a model's parts, checks them, and makes the immutable Model. What it refuses
// is a mistake of the compiler (src/yantra/compile), never the user's.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/ids.hpp"
#include "model/layout.hpp"
#include "model/model.hpp"

namespace yantra {

// A count and stride, or a list.
struct OffsetAxis {
    u32 count = 0;
    u32 stride = 0;
    std::vector<u32> listed;
};

struct AddedLayout {
    LayoutId id;
    u32 lowest = none;               // of those dimensions
    // If a communicator at 0 is exactly a product of coordinates: these by dimension, and the whole
    // dimensions.
    std::vector<std::vector<u32>> coordinates;
    std::optional<std::vector<u32>> whole;
    LayoutId aligned;
};

// For each point of a product of axes, from `first_index`.
struct AddedFamily {
    LayoutId layout;
    u32 first_index = 0;
    u64 first_chunk = 0;
    u64 chunks_each = 0;
    u32 base = 0;
    std::vector<Family::Axis> axes;
    u32 inner = 1;                   // as in Family
    std::vector<std::pair<u32, LayoutId>> split;
};

using Programs = std::map<CollectiveKind, ProgramId>;

// A Level, by ids.
struct AddedLevel {
    u32 size = 0;
    u32 stride = 1;
    u32 index_stride = 1;
    u32 dimension = 0;
    std::vector<u32> coordinates;         // of the members along the dimension, from the first's; or empty: all
    bool fixed_hand_over = false;
    Programs programs;
    Programs alternates;             // of every second phase that `counter` counts
    PhaseCounterId counter;          // none: always `programs`
};

// A Plan, by ids.
struct AddedPlan {
    std::vector<AddedLevel> levels;
    bool over_members = false;
    u32 communicator_size = 0;
    CustomId custom;                 // in place of levels; or none
    bool masked = true;
    bool shared_load = false;
    bool in_stages = false;
    u32 chunks = 0;
    std::vector<u32> lanes;               // of each level; or empty: one
};

class ModelBuilder {
public:
    explicit ModelBuilder(TimeScale scale);

    void set_quirks(const Quirks& quirks) { model().semantics.quirks = quirks; }
    void set_system(const SystemParameters& system) { model().collectives.system = system; }
    void set_network(NetworkChoice network) { model().network.choice = std::move(network); }
    // `placement`: the device of each rank; empty: in order. Throws std::invalid_argument.
    void set_fabric(std::shared_ptr<const FabricGraph> graph, RoutingChoice routing, std::vector<u32> placement);
    // At ticks, and the delay until ways follow. Throws std::invalid_argument.
    void set_link_changes(std::vector<LinkChange> changes, u64 reroute_delay);
    // The number of a device, not a rank, in programs. Set the fabric first.
    u32 add_switch(u32 device);
    void set_formula_groups(const std::vector<u32>& groups);
    void set_background(std::vector<BackgroundFlow> flows);
    void set_slow_spells(std::vector<SlowSpell> spells);
    // Ticks by rank. Throws std::invalid_argument.
    void set_begins(std::vector<u64> begins);
    void set_memory(const RemoteMemory& memory) { model().memory = memory; }
    void match_by_tag() { model().collectives.match_by_tag = true; }

    void add_dimension(const Dimension& dimension, std::shared_ptr<const BlockTable> table);

    // Members are sums of one offset of each axis.
    AddedLayout add_layout(const std::vector<OffsetAxis>& axes, bool ascending);
    LayoutId add_split(LayoutId layout);
    CommunicatorId add_communicator(LayoutId layout, u32 base, u64 first_chunk);
    void add_family(const AddedFamily& family);
    LayoutId layout_of(CommunicatorId communicator) const;
    // Communicators of families have numbers, too.
    CommunicatorId communicator(u32 index) const;

    // As in layout.hpp; or all communicators share one.
    u32 number_queue_sets() { return yantra::number_queue_sets(model()); }
    void share_queue_sets();
    // Of collectives and sends: all in `first`, or, with `send_to_all`, one for each queue set.
    void set_slots(ResourceMap slots, u8 first, std::optional<u8> send_to_all);
    const ResourceMap& slots() const { return model().work.resources; }

    ProgramId add_program(Program program);
    PhaseCounterId add_phase_counter();
    CustomId add_custom(const std::vector<std::shared_ptr<const Graph>>& graphs, bool over_members);
    PlanId add_plan(const AddedPlan& plan);
    // A kind's first plan is for all sizes; later ones apply from more bytes on.
    void set_plan(LayoutId layout, CollectiveKind kind, PlanId plan, u64 from_bytes);
    // For nodes that involve only some dimensions.
    void set_partial_plan(LayoutId layout, CollectiveKind kind, PlanId plan);

    Assignment assign(const std::vector<TemplateUse>& templates,
                      const std::vector<u32>& template_of) const;
    void set_jobs(std::vector<std::shared_ptr<const Job>> jobs, std::vector<u32> job_of);
    void set_role_jobs(const Assignment& assignment, std::vector<std::shared_ptr<const Job>> jobs);
    std::optional<RankProblems> check_ranks() const;
    std::vector<Problem> check_job(const Job& job, u32 rank) const;

    // No further calls are allowed.
    std::shared_ptr<const Model> build();

private:
    Model& model();
    const Model& model() const;
    u32 checked(ProgramId program) const;
    void set_programs(std::array<u32, collective_kinds>& by_kind, const Programs& programs) const;

    std::shared_ptr<Model> model_;
    IdVector<LayoutId, AddedLayout> layouts_;
    u32 phase_counters_ = 0;
};

}  // namespace yantra
