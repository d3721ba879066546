// Python's view of templates.
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unordered_map.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <string>
#include <utility>

#include "bind/choices.hpp"
#include "bind/fields.hpp"
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
    Class<ComputeTotal>(module, "ComputeTotal")
        .field("op_class", &ComputeTotal::op_class)
        .field("phase", &ComputeTotal::phase)
        .field("count", &ComputeTotal::count)
        .field("operations", &ComputeTotal::operations)
        .field("bytes", &ComputeTotal::bytes);
    Class<CommunicationTotal>(module, "CommunicationTotal")
        .field("type", &CommunicationTotal::type)
        .field("comm_type", &CommunicationTotal::comm_type)
        .field("group", &CommunicationTotal::group)
        .field("count", &CommunicationTotal::count)
        .field("bytes", &CommunicationTotal::bytes);
    Class<Totals>(module, "Totals")
        .field("compute", &Totals::compute)
        .field("communication", &Totals::communication)
        .field("activations_peak", &Totals::activations_peak)
        .field("activations", &Totals::activations);
    module.def("totals", &total, "trace"_a, "parts"_a);
}

}  // namespace

void register_templates(nb::module_& module) {
    Class<RelativeNames>(module, "RelativeNames")
        .field("groups", &RelativeNames::groups)
        .field("peers", &RelativeNames::peers);
    module.def("relative_names", &relative_names, "trace"_a);
    bind_totals(module);
    module.def("resolve", &resolve_for, "trace"_a, "rank"_a, "groups"_a, "peers"_a);
    module.def("with_collectives_in_order", [](const Trace& trace) {
        return std::make_shared<Trace>(with_collectives_in_order(trace));
    }, "trace"_a);
}

}  // namespace yantra
