// Python's view of how communicators and templates lie on the ranks of a model.
#include "bind/layout_bind.hpp"

#include <nanobind/ndarray.h>
#include <nanobind/stl/array.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <memory>
#include <tuple>
#include <utility>
#include <vector>

#include "model/layout.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace yantra {

namespace {

// A number for every rank.
using RankColumn = nb::ndarray<const u32, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
// Offsets along an axis: so many of a stride, or those listed.
using OffsetsTuple = std::tuple<u32, u32, std::vector<u32>>;
// One axis of a family: count, base stride, index stride.
using FamilyAxisTuple = std::tuple<u32, u32, u32>;
// One axis of a sum: stride, size, factor, values.
using SumAxisTuple = std::tuple<u32, u32, u32, std::vector<u32>>;
// A sum: first rank, base, whether the rank is added, axes.
using SumTuple = std::tuple<u32, u32, bool, std::vector<SumAxisTuple>>;
// A template: what its communicators and peers mean, and its collectives (place, bit set of types).
using TemplateTuple =
    std::tuple<std::vector<SumTuple>, std::vector<SumTuple>, std::vector<std::pair<u32, u32>>>;

std::vector<u32> column(const RankColumn& values) {
    return {values.data(), values.data() + values.size()};
}

// The sums of one offset of each axis; in ring order as given, or ascending.
u32 add_form(Model& model, const std::vector<OffsetsTuple>& axes, bool ascending) {
    std::vector<u32> offsets{0};
    for (const auto& [count, stride, listed] : axes) {
        const std::vector<u32> before = std::move(offsets);
        offsets.clear();
        for (u32 at = 0; at < count; ++at) {
            for (u32 offset : before) {
                offsets.push_back(offset + (listed.empty() ? at * stride : listed[at]));
            }
        }
    }
    if (ascending) {
        std::sort(offsets.begin(), offsets.end());
    }
    Form form{std::make_shared<const Shape>(std::move(offsets)), {}};
    form.plan.fill(none);
    model.forms.push_back(std::move(form));
    return static_cast<u32>(model.forms.size() - 1);
}

u32 copy_form(Model& model, u32 form) {
    model.forms.push_back(model.forms.at(form));
    return static_cast<u32>(model.forms.size() - 1);
}

void add_family(Model& model, u32 first_index, std::pair<u64, u64> streams, u32 base,
                const std::vector<FamilyAxisTuple>& axes, std::pair<u32, u32> forms, u64 whole) {
    Family family{first_index, streams.first, streams.second, base, {}, forms.first, forms.second, whole};
    for (const auto& [count, base_stride, index_stride] : axes) {
        family.axes.push_back({count, base_stride, index_stride});
    }
    add_communicators(model, family);
}

// The slots of collectives and sends, by communicator: all in one, or those of each number apart.
void set_slots(Model& model, ResourceMap slots, u8 first, std::optional<u8> send_to_all) {
    const std::size_t count = model.communicators.size();
    slots.collective.assign(count, first);
    if (send_to_all) {
        for (std::size_t at = 0; at < count; ++at) {
            slots.collective[at] = static_cast<u8>(first + model.lanes[at]);
        }
    }
    slots.send = slots.collective;
    slots.send[0] = send_to_all.value_or(first);
    model.resources = std::move(slots);
}

std::vector<AxisSum> sums(const std::vector<SumTuple>& tuples) {
    std::vector<AxisSum> made;
    for (const auto& [first_rank, base, relative, axes] : tuples) {
        std::vector<AxisSum::Axis> over;
        for (const auto& [stride, size, factor, values] : axes) {
            over.push_back({stride, size, factor, values});
        }
        made.emplace_back(first_rank, base, relative, std::move(over));
    }
    return made;
}

std::unique_ptr<Assignment> assign_templates(const Model& model, const std::vector<TemplateTuple>& templates,
                                             const RankColumn& template_of) {
    std::vector<TemplateUse> uses;
    for (const auto& [communicators, peers, collectives] : templates) {
        uses.push_back({std::make_shared<const RankRules>(RankRules{sums(communicators), sums(peers)}),
                        collectives});
    }
    const std::vector<u32> by_rank = column(template_of);
    const nb::gil_scoped_release unlocked;
    return std::make_unique<Assignment>(assign(model, uses, by_rank));
}

// The jobs of the roles; the model takes what the assignment says of ranks.
void set_roles(Model& model, Assignment& assignment, const std::vector<std::shared_ptr<Job>>& jobs) {
    model.distinct_jobs.assign(jobs.begin(), jobs.end());
    model.rules.clear();
    for (const Assignment::Role& role : assignment.roles) {
        model.rules.push_back(role.rules);
    }
    model.job_of = std::move(assignment.role_of);
}

}  // namespace

void register_layout(nb::module_& module) {
    module.def("add_form", &add_form, "model"_a, "axes"_a, "ascending"_a);
    module.def("copy_form", &copy_form, "model"_a, "form"_a);
    module.def("set_plans", [](Model& model, u32 form, const std::array<u32, collective_kinds>& plans) {
        model.forms.at(form).plan = plans;
    }, "model"_a, "form"_a, "plans"_a);
    module.def("span_of", [](const Model& model, u32 form) {
        const Span span = span_of(model, model.forms.at(form));
        return std::make_pair(span.lowest, span.whole);
    }, "model"_a, "form"_a);
    module.def("form_of", [](const Model& model, u32 communicator) {
        return model.communicators.at(communicator).form;
    }, "model"_a, "communicator"_a);
    module.def("add_communicators", &add_family, "model"_a, "first_index"_a, "streams"_a, "base"_a,
               "axes"_a, "forms"_a, "whole"_a);
    module.def("colour", &colour, "model"_a, nb::call_guard<nb::gil_scoped_release>());
    module.def("share_lanes", [](Model& model) {
        std::fill(model.lanes.begin(), model.lanes.end(), 0);
    }, "model"_a);
    module.def("set_slots", &set_slots, "model"_a, "slots"_a, "first"_a, "send_to_all"_a = nb::none());
    nb::class_<Assignment> assignment(module, "Assignment");
    assignment.def_prop_ro("roles", [](const Assignment& a) {
        std::vector<std::tuple<u32, u32, std::vector<u8>, std::vector<u8>>> rows;
        for (const Assignment::Role& role : a.roles) {
            rows.emplace_back(role.in_template, role.rank, role.collective, role.send);
        }
        return rows;
    });
    assignment.def_ro("kinds", &Assignment::kinds);
    assignment.def_prop_ro("faulty", [](const Assignment& a) {
        return a.faulty == none ? nb::none() : nb::cast(a.faulty);
    });
    module.def("assign", &assign_templates, "model"_a, "templates"_a, "template_of"_a);
    module.def("set_roles", &set_roles, "model"_a, "assignment"_a, "jobs"_a);
}

}  // namespace yantra
