// Python's view of templates. std::invalid_argument becomes ValueError, for the Python side to reword.
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unordered_map.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bind/choices.hpp"
#include "bind/parts.hpp"
#include "trace/tools/relative.hpp"
#include "trace/tools/totals.hpp"

namespace nb = nanobind;
using namespace nanobind::literals;

namespace yantra {

namespace {

std::shared_ptr<Trace> resolve_for(const Trace& trace, std::uint32_t rank,
                                   std::unordered_map<std::string, std::string> groups,
                                   std::unordered_map<std::string, std::uint32_t> peers) {
    const Meaning meaning{rank, std::move(groups), std::move(peers)};
    const nb::gil_scoped_release unlocked;
    return std::make_shared<Trace>(resolve(trace, meaning));
}

void bind_totals(nb::module_& module) {
    nb::class_<ComputeTotal>(module, "ComputeTotal")
        .def_ro("op_class", &ComputeTotal::op_class)
        .def_ro("phase", &ComputeTotal::phase)
        .def_ro("count", &ComputeTotal::count)
        .def_ro("operations", &ComputeTotal::operations)
        .def_ro("bytes", &ComputeTotal::bytes);
    nb::class_<CommunicationTotal>(module, "CommunicationTotal")
        .def_ro("type", &CommunicationTotal::type)
        .def_ro("comm_type", &CommunicationTotal::comm_type)
        .def_ro("group", &CommunicationTotal::group)
        .def_ro("count", &CommunicationTotal::count)
        .def_ro("bytes", &CommunicationTotal::bytes);
    nb::class_<Totals>(module, "Totals")
        .def_ro("compute", &Totals::compute)
        .def_ro("communication", &Totals::communication)
        .def_ro("activations_peak", &Totals::activations_peak)
        .def_ro("activations", &Totals::activations);
    module.def("totals", &total, "trace"_a, "parts"_a);
}

}  // namespace

void register_templates(nb::module_& module) {
    nb::class_<RelativeNames>(module, "RelativeNames")
        .def_ro("groups", &RelativeNames::groups)
        .def_ro("peers", &RelativeNames::peers);
    module.def("relative_names", &relative_names, "trace"_a);
    bind_totals(module);
    module.def("resolve", &resolve_for, "trace"_a, "rank"_a, "groups"_a, "peers"_a);
    module.def("with_collectives_in_order", [](const Trace& trace) {
        return std::make_shared<Trace>(with_collectives_in_order(trace));
    }, "trace"_a);
}

}  // namespace yantra
