// Python's view of ModelBuilder, its records and ids.
#include <nanobind/ndarray.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unordered_map.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/ensure.hpp"
#include "bind/arrays.hpp"
#include "bind/choices.hpp"
#include "bind/fields.hpp"
#include "bind/ids.hpp"
#include "bind/interruptible.hpp"
#include "bind/network_from_python.hpp"
#include "bind/optional.hpp"
#include "bind/parts.hpp"
#include "collective/make.hpp"
#include "model/builder.hpp"
#include "model/work.hpp"
#include "workload/used_collectives.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace yantra {

namespace {

constexpr u64 comm_types = 32;   // bits in a set of them

// Comm_types, as bits, in communicators of each layout, and those of groups named otherwise.
std::pair<std::vector<std::pair<LayoutId, u64>>, std::vector<UsedCollective>> used_in_layouts(
    const ModelBuilder& builder, const std::vector<std::shared_ptr<const Graph>>& graphs,
    const std::unordered_map<std::string, CommunicatorId>& by_name) {
    std::vector<std::pair<LayoutId, u64>> of_layouts;
    std::vector<UsedCollective> others;
    for (UsedCollective& used : used_collectives(graphs)) {
        const auto found = by_name.find(used.group);
        if (found == by_name.end() || used.comm_type >= comm_types) {
            others.push_back(std::move(used));
            continue;
        }
        const LayoutId layout = builder.layout_of(found->second);
        auto of = std::find_if(of_layouts.begin(), of_layouts.end(),
                               [layout](const auto& one) { return one.first == layout; });
        if (of == of_layouts.end()) {
            of = of_layouts.insert(of, {layout, 0});
        }
        of->second |= u64{1} << used.comm_type;
    }
    return {std::move(of_layouts), std::move(others)};
}

using RankColumn = nb::ndarray<const u32, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

struct CollectiveUse {
    u32 place = 0;
    u64 comm_type = 0;
};

std::vector<u32> copied(const RankColumn& values) {
    return {values.data(), values.data() + values.size()};
}

TemplateUse template_use(std::vector<AxisSum> groups, std::vector<AxisSum> peers,
                         const std::vector<CollectiveUse>& collectives) {
    TemplateUse use;
    use.rules = std::make_shared<const RankRules>(RankRules{std::move(groups), std::move(peers)});
    std::map<u32, u32> types;
    for (const CollectiveUse& of : collectives) {
        if (of.comm_type < comm_types) {
            types[of.place] |= 1u << of.comm_type;
        }
    }
    use.collectives = {types.begin(), types.end()};
    return use;
}

std::vector<u32> comm_types_of(const Assignment& assignment, LayoutId layout) {
    std::vector<u32> found;
    const u32 bits = assignment.comm_types.at(layout.index());
    for (u32 type = 0; type < comm_types; ++type) {
        if ((bits >> type & 1) != 0) {
            found.push_back(type);
        }
    }
    return found;
}

void bind_ids(nb::module_& module) {
    bind_id<ProgramId>(module, "ProgramId");
    bind_id<PhaseCounterId>(module, "PhaseCounterId");
    bind_id<PlanId>(module, "PlanId");
    bind_id<LayoutId>(module, "LayoutId");
    bind_id<CommunicatorId>(module, "CommunicatorId");
    bind_id<CustomId>(module, "CustomId");
}

void bind_programs(nb::module_& module) {
    Choices<Symmetry>(module, "Symmetry")
        .value("NONE", Symmetry::none)
        .value("ADD", Symmetry::add)
        .value("XOR", Symmetry::exclusive_or);
    Choices<GraphOp::Kind>(module, "OperationKind")
        .value("SEND", GraphOp::send)
        .value("RECV", GraphOp::receive)
        .value("LOCAL", GraphOp::local);
    nb::class_<Share>(module, "Share").def(nb::init<u64, u64>(), "num"_a, "den"_a);
    nb::class_<Run>(module, "ExchangeRun")
        .def(nb::init<u64, i32, i32, bool, Share, Share, bool, bool>(), nb::kw_only(), "count"_a,
             "out"_a, "into"_a, "by_xor"_a, "bytes"_a, "reduce"_a, "from_memory"_a, "back"_a);
    nb::class_<Barrier>(module, "Barrier")
        .def(nb::init<u64, u64, bool>(), nb::kw_only(), "at"_a, "receipts"_a, "counts_hand_overs"_a);
    nb::class_<Operation>(module, "Operation")
        .def(nb::init<GraphOp::Kind, u32, Share, Share, std::vector<u32>, bool, bool, bool>(),
             nb::kw_only(), "kind"_a, "peer"_a, "bytes"_a, "reduce"_a, "dependencies"_a,
             "from_memory"_a, "back"_a, "back_if_last"_a);
    nb::class_<TimedProgram::Charge>(module, "Charge")
        .def("__init__", [](TimedProgram::Charge* self, u32 node, u32 place, double share, u64 messages,
                            std::optional<u32> from_node) {
            new (self) TimedProgram::Charge{from_node.value_or(none), node, place, share, messages};
        }, nb::kw_only(), "node"_a, "place"_a, "share"_a, "messages"_a, "from_node"_a = nb::none());
}

void bind_layouts(nb::module_& module) {
    nb::class_<OffsetAxis>(module, "OffsetAxis")
        .def(nb::init<u32, u32, std::vector<u32>>(), nb::kw_only(), "count"_a, "stride"_a,
             "listed"_a);
    Class<AddedLayout>(module, "Layout")
        .field("id", &AddedLayout::id)
        .field("coordinates", &AddedLayout::coordinates)
        .field("whole", &AddedLayout::whole)
        .def_prop_ro("lowest", [](const AddedLayout& l) { return unless_none(l.lowest); })
        .def_prop_ro("aligned", [](const AddedLayout& l) {
            return typed_unless_none<LayoutId>(l.aligned.index());
        });
    nb::class_<Family::Axis>(module, "FamilyAxis")
        .def(nb::init<u32, u32, u32>(), nb::kw_only(), "count"_a, "base_stride"_a, "index_stride"_a);
    nb::class_<AddedFamily>(module, "Family")
        .def(nb::init<LayoutId, u32, u64, u64, u32, std::vector<Family::Axis>, u32,
                      std::vector<std::pair<u32, LayoutId>>>(),
             nb::kw_only(), "layout"_a, "first_index"_a, "first_chunk"_a, "chunks_each"_a, "base"_a,
             "axes"_a, "inner"_a = 1, "split"_a = std::vector<std::pair<u32, LayoutId>>{});
    nb::class_<AddedLevel>(module, "Level")
        .def("__init__", [](AddedLevel* self, u32 size, u32 stride, u32 index_stride, u32 dimension,
                            bool fixed_hand_over, Programs programs, Programs alternates,
                            std::optional<PhaseCounterId> counter, std::vector<u32> coordinates) {
            new (self) AddedLevel{size, stride, index_stride, dimension, std::move(coordinates),
                                  fixed_hand_over, std::move(programs), std::move(alternates),
                                  counter.value_or(PhaseCounterId::none)};
        }, nb::kw_only(), "size"_a, "stride"_a, "index_stride"_a, "dimension"_a, "fixed_hand_over"_a,
           "programs"_a, "alternates"_a, "counter"_a.none(), "coordinates"_a = std::vector<u32>{});
}

void bind_templates(nb::module_& module) {
    nb::class_<AxisSum::Axis>(module, "SumAxis")
        .def(nb::init<u32, u32, u32, std::vector<u32>>(), nb::kw_only(), "stride"_a, "size"_a,
             "factor"_a, "values"_a);
    nb::class_<AxisSum>(module, "AxisSum")
        .def(nb::init<u32, u32, bool, std::vector<AxisSum::Axis>>(), nb::kw_only(), "first_rank"_a,
             "base"_a, "relative"_a, "axes"_a);
    nb::class_<CollectiveUse>(module, "CollectiveUse")
        .def(nb::init<u32, u64>(), nb::kw_only(), "place"_a, "comm_type"_a);
    nb::class_<TemplateUse>(module, "TemplateUse")
        .def(
            "__init__",
            [](TemplateUse* self, std::vector<AxisSum> groups, std::vector<AxisSum> peers,
               const std::vector<CollectiveUse>& collectives) {
                new (self)
                    TemplateUse(template_use(std::move(groups), std::move(peers), collectives));
            },
            nb::kw_only(), "groups"_a, "peers"_a, "collectives"_a);
    Class<Assignment::Role>(module, "Role")
        .field("in_template", &Assignment::Role::in_template)
        .field("rank", &Assignment::Role::rank)
        .field("collective", &Assignment::Role::collective)
        .field("send", &Assignment::Role::send);
    Class<Assignment>(module, "Assignment")
        .field("roles", &Assignment::roles)
        .def_prop_ro("faulty", [](const Assignment& a) { return unless_none(a.faulty); })
        .def("comm_types", &comm_types_of, "layout"_a);
    Class<RankProblems>(module, "RankProblems")
        .field("rank", &RankProblems::rank)
        .field("problems", &RankProblems::problems);
}

void bind_plans(nb::class_<ModelBuilder>& builder) {
    builder
        .def(
            "add_exchange",
            [](ModelBuilder& self, std::vector<Run> runs, u64 window, u64 sends,
               const Barrier& barrier, Share result, bool round_up) {
                return self.add_program(
                    {make_exchange(std::move(runs), window, sends, barrier), result, round_up});
            },
            nb::kw_only(), "runs"_a, "window"_a, "sends"_a, "barrier"_a, "result"_a, "round_up"_a)
        .def(
            "add_graph",
            [](ModelBuilder& self, const std::vector<std::vector<Operation>>& positions,
               Symmetry symmetry, Share result, bool round_up, std::vector<u32> switches,
               std::vector<u32> hosts, u64 step) {
                GraphProgram program =
                    make_graph(positions, symmetry, std::move(switches), std::move(hosts));
                program.step = step;
                return self.add_program({std::move(program), result, round_up});
            },
            nb::kw_only(), "positions"_a, "symmetry"_a, "result"_a, "round_up"_a,
            "switches"_a = std::vector<u32>{}, "hosts"_a = std::vector<u32>{}, "step"_a = 0)
        .def("add_switch", &ModelBuilder::add_switch, "device"_a)
        .def(
            "add_timed",
            [](ModelBuilder& self, const std::vector<std::pair<u64, u64>>& points, u32 local,
               const std::vector<std::pair<u64, std::vector<TimedProgram::Charge>>>& charges) {
                TimedProgram program;
                for (const auto& [bytes, ticks] : points) {
                    program.points.push_back({bytes, ticks});
                }
                program.local = local;
                for (const auto& [bytes, of] : charges) {
                    program.charges.push_back({bytes, of});
                }
                return self.add_program({std::move(program), {}, false});
            },
            "points"_a, "local"_a = 1,
            "charges"_a = std::vector<std::pair<u64, std::vector<TimedProgram::Charge>>>{})
        .def("add_phase_counter", &ModelBuilder::add_phase_counter)
        .def("add_custom", &ModelBuilder::add_custom, "graphs"_a, "over_members"_a)
        .def(
            "add_plan",
            [](ModelBuilder& self, std::vector<AddedLevel> levels, bool over_members,
               u32 communicator_size, std::optional<CustomId> custom, bool masked, bool shared_load,
               bool in_stages, u32 chunks, std::vector<u32> lanes) {
                ensure(lanes.empty() || lanes.size() == levels.size(),
                       "model builder: lanes are those of the levels");
                return self.add_plan({std::move(levels), over_members, communicator_size,
                                      custom.value_or(CustomId::none), masked, shared_load,
                                      in_stages, chunks, std::move(lanes)});
            },
            nb::kw_only(), "levels"_a, "over_members"_a, "communicator_size"_a, "custom"_a.none(),
            "masked"_a, "shared_load"_a, "in_stages"_a = false, "chunks"_a = 0,
            "lanes"_a = std::vector<u32>{})
        .def("set_partial_plan", &ModelBuilder::set_partial_plan, "layout"_a, "kind"_a, "plan"_a)
        .def("set_plan", &ModelBuilder::set_plan, "layout"_a, "kind"_a, "plan"_a,
             "from_bytes"_a = 0);
}

void bind_ranks(nb::class_<ModelBuilder>& builder) {
    builder
        .def("assign", [](const ModelBuilder& self, const std::vector<TemplateUse>& templates,
                          const RankColumn& template_of) {
            const std::vector<u32> by_rank = copied(template_of);
            const nb::gil_scoped_release unlocked;
            return self.assign(templates, by_rank);
        }, "templates"_a, "template_of"_a)
        .def("set_jobs", [](ModelBuilder& self, std::vector<std::shared_ptr<const Job>> jobs,
                            const RankColumn& job_of) {
            self.set_jobs(std::move(jobs), copied(job_of));
        }, "jobs"_a, "job_of"_a)
        .def("set_role_jobs", &ModelBuilder::set_role_jobs, "assignment"_a, "jobs"_a)
        .def("check_ranks", &ModelBuilder::check_ranks)
        .def("check_job", &ModelBuilder::check_job, "job"_a, "rank"_a)
        .def("build", &ModelBuilder::build);
}

void bind_work(nb::module_& module) {
    Class<TooLarge>(module, "TooLarge")
        .field("rank", &TooLarge::rank)
        .field("node", &TooLarge::node)
        .field("bytes", &TooLarge::bytes);
    Class<Work>(module, "Work")
        .field("nodes", &Work::nodes)
        .field("messages", &Work::messages)
        .field("events", &Work::events)
        .field("bytes_moved", &Work::bytes_moved)
        .field("chunks", &Work::chunks)
        .field("queues", &Work::queues)
        .field("queues_in_a_rank", &Work::queues_in_a_rank)
        .field("bytes_needed", &Work::bytes_needed)
        .field("too_large", &Work::too_large);
    module.def("work_of", &work_of, "model"_a, "ranks"_a = std::vector<u32>{},
               Interruptible());
}

void bind_model(nb::module_& module) {
    nb::class_<LinkChange>(module, "LinkChange")
        .def(nb::init<u64, u32, double>(), nb::kw_only(), "tick"_a, "link"_a, "bytes_per_ns"_a);
    nb::class_<SlowSpell>(module, "SlowSpell")
        .def("__init__", [](SlowSpell* self, u32 rank, u64 from, u64 until, double factor) {
            new (self) SlowSpell{rank, from, until, factor};
        }, nb::kw_only(), "rank"_a, "from_tick"_a, "until_tick"_a, "factor"_a);
    nb::class_<Model>(module, "Model")
        .def_prop_ro("fabric", [](const Model& self) { return self.network.fabric; })
        .def_prop_ro("links_change", [](const Model& self) { return !self.network.link_changes.empty(); })
        .def_prop_ro("formula_groups", [](const Model& self) {
            nb::typed<nb::list, u32> groups;
            for (u32 at = 0; at < self.network.formula_groups.size(); ++at) {
                if (self.network.formula_groups[at]) {
                    groups.append(at);
                }
            }
            return groups;
        });
}

void bind_builder(nb::module_& module) {
    bind_model(module);
    bind_work(module);
    Class<ModelBuilder> builder(module, "ModelBuilder");
    builder.def(nb::init<TimeScale>(), "scale"_a)
        .def("set_quirks", &ModelBuilder::set_quirks, "quirks"_a)
        .def("set_system", &ModelBuilder::set_system, "system"_a)
        .def("set_network", [](ModelBuilder& self, std::string level, std::map<std::string, double> options) {
            self.set_network({std::move(level), std::move(options), nullptr});
        }, "level"_a, "options"_a)
        .def("set_network_from_outside", [](ModelBuilder& self, nb::callable make, bool wants_routes) {
            self.set_network({"", {}, network_from_python(std::move(make), wants_routes)});
        }, "make"_a, "wants_routes"_a,
           nb::sig("def set_network_from_outside(self, "
                   "make: collections.abc.Callable[[NetworkPort], object], wants_routes: bool) -> None"))
        .def("set_fabric", [](ModelBuilder& self, std::shared_ptr<FabricGraph> graph, std::string routing,
                              std::map<std::string, double> options, u64 seed, const RankColumn& placement) {
            self.set_fabric(std::move(graph), {std::move(routing), std::move(options), seed}, copied(placement));
        }, "graph"_a, "routing"_a, "options"_a, "seed"_a, "placement"_a)
        .def("set_link_changes", &ModelBuilder::set_link_changes, "changes"_a, "reroute_delay"_a)
        .def("set_background", [](ModelBuilder& self, const Wholes& tick, const RankColumn& from,
                                  const RankColumn& to, const Wholes& bytes) {
            ensure(from.size() == tick.size() && to.size() == tick.size() && bytes.size() == tick.size(),
                   "background: columns of one length");
            std::vector<BackgroundFlow> flows(tick.size());
            for (std::size_t at = 0; at < flows.size(); ++at) {
                flows[at] = {tick.data()[at], from.data()[at], to.data()[at], bytes.data()[at]};
            }
            self.set_background(std::move(flows));
        }, "tick"_a, "src"_a, "dst"_a, "bytes"_a)
        .def("set_formula_groups", &ModelBuilder::set_formula_groups, "groups"_a)
        .def("set_slow_spells", &ModelBuilder::set_slow_spells, "spells"_a)
        .def("set_begins", &ModelBuilder::set_begins, "begins"_a)
        .def("set_memory", &ModelBuilder::set_memory, "memory"_a)
        .def("match_by_tag", &ModelBuilder::match_by_tag)
        .def("add_dimension", [](ModelBuilder& self, const Dimension& dimension,
                                 std::shared_ptr<const BlockTable> table) {
            self.add_dimension(dimension, std::move(table));
        }, "dimension"_a, "table"_a.none() = nb::none())
        .def("add_layout", &ModelBuilder::add_layout, "axes"_a, "ascending"_a)
        .def("add_split", &ModelBuilder::add_split, "layout"_a)
        .def("add_communicator", &ModelBuilder::add_communicator, "layout"_a, "base"_a,
             "first_chunk"_a)
        .def("add_family", &ModelBuilder::add_family, "family"_a)
        .def("layout_of", &ModelBuilder::layout_of, "communicator"_a)
        .def("used_in_layouts", &used_in_layouts, "graphs"_a, "by_name"_a)
        .def("communicator", &ModelBuilder::communicator, "index"_a)
        .def("number_queue_sets", &ModelBuilder::number_queue_sets,
             Interruptible())
        .def("share_queue_sets", &ModelBuilder::share_queue_sets)
        .def("set_slots", &ModelBuilder::set_slots, "slots"_a, "first"_a, "send_to_all"_a = nb::none())
        .def_prop_ro("slots", &ModelBuilder::slots);
    bind_plans(builder);
    bind_ranks(builder);
}

}  // namespace

void register_builder(nb::module_& module) {
    bind_ids(module);
    bind_programs(module);
    bind_layouts(module);
    bind_templates(module);
    bind_builder(module);
}

}  // namespace yantra
