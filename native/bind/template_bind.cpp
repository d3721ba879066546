// Python's view of templates. std::invalid_argument becomes ValueError, for the Python side to reword.
#include "bind/template_bind.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/unordered_map.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "trace/relative.hpp"
#include "trace/stamp.hpp"
#include "trace/totals.hpp"

namespace nb = nanobind;
using namespace nanobind::literals;

namespace yantra {

namespace {

using EdgeRow = std::tuple<std::uint64_t, std::uint64_t, bool>;

std::uint64_t stamp(Stamper& self, const std::shared_ptr<Trace>& block,
                    const std::vector<EdgeRow>& rows, std::optional<std::int64_t> microbatch,
                    std::int64_t tag_base) {
    std::vector<StampEdge> edges;
    edges.reserve(rows.size());
    for (const auto& [place, earlier, is_ctrl] : rows) {
        edges.push_back({place, earlier, is_ctrl});
    }
    const nb::gil_scoped_release unlocked;
    return self.stamp(block, std::move(edges), microbatch, tag_base);
}

std::shared_ptr<Trace> resolve_for(const Trace& trace, std::uint32_t rank,
                                   std::unordered_map<std::string, std::string> groups,
                                   std::unordered_map<std::string, std::uint32_t> peers) {
    const Meaning meaning{rank, std::move(groups), std::move(peers)};
    const nb::gil_scoped_release unlocked;
    return std::make_shared<Trace>(resolve(trace, meaning));
}

// ([(op_class, phase, count, operations, bytes)], [(type, comm_type, group, count, bytes)], peak, [bytes])
nb::tuple totals_of(const Trace& trace, std::size_t parts) {
    const Totals totals = total(trace, parts);
    nb::list compute;
    for (const ComputeTotal& sum : totals.compute) {
        compute.append(
            nb::make_tuple(sum.op_class, sum.phase, sum.count, sum.operations, sum.bytes));
    }
    nb::list communication;
    for (const CommunicationTotal& sum : totals.communication) {
        communication.append(
            nb::make_tuple(sum.type, sum.comm_type, sum.group, sum.count, sum.bytes));
    }
    return nb::make_tuple(compute, communication, totals.activations_peak, totals.activations);
}

}  // namespace

void register_templates(nb::module_& module) {
    nb::class_<Stamper>(module, "Stamper")
        .def(nb::init<const Trace&>(), "head"_a)
        .def("stamp", &stamp, "block"_a, "edges"_a, "microbatch"_a.none(), "tag_base"_a)
        .def("__len__", &Stamper::size)
        .def("bytes", [](const Stamper& self) {
            return nb::bytes(self.bytes().data(), self.bytes().size());
        });
    module.def("relative_names", [](const Trace& trace) {
        RelativeNames names = relative_names(trace);
        return std::make_pair(std::move(names.groups), std::move(names.peers));
    }, "trace"_a);
    module.def("totals", &totals_of, "trace"_a, "parts"_a);
    module.def("resolve", &resolve_for, "trace"_a, "rank"_a, "groups"_a, "peers"_a);
    module.def("with_collectives_in_order", [](const Trace& trace) {
        return std::make_shared<Trace>(with_collectives_in_order(trace));
    }, "trace"_a);
}

}  // namespace yantra
