// Python's view of fabrics and routings.
#include <nanobind/ndarray.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "base/interruption.hpp"
#include "bind/arrays.hpp"
#include "bind/choices.hpp"
#include "bind/fields.hpp"
#include "bind/interruptible.hpp"
#include "bind/parts.hpp"
#include "fabric/graph.hpp"
#include "fabric/routing/routing.hpp"
#include "fabric/routing/routing_laws.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace yantra {

namespace {

using Table = nb::ndarray<const i32, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

// Refuses negative numbers.
template <class To, class From>
std::vector<To> wholes(const Array<From>& values, const char* what) {
    std::vector<To> column;
    column.reserve(values.size());
    for (const From value : span_of(values)) {
        if (value < 0) {
            throw std::invalid_argument(std::string("fabric graph: ") + what + " below 0");
        }
        column.push_back(static_cast<To>(value));
    }
    return column;
}

template <class Value>
std::vector<Value> copied(const Array<Value>& values) {
    return {values.data(), values.data() + values.size()};
}

void make_fabric(FabricGraph* self, u32 ranks, const Array<u8>& kinds, const Array<i32>& from,
                 const Array<i32>& to, const Array<double>& bytes_per_ns,
                 const Array<double>& latency_ns, const Array<i64>& buffer_bytes,
                 const Array<i32>& label, std::vector<std::string> labels,
                 const Array<double>& weight, const std::optional<Array<i32>>& box,
                 const std::optional<Table>& coordinates, std::vector<std::string> names,
                 std::vector<std::pair<std::string, u32>> tiers) {
    FabricColumns columns{ranks,
                          copied(kinds),
                          wholes<u32>(from, "a device"),
                          wholes<u32>(to, "a device"),
                          copied(bytes_per_ns),
                          copied(latency_ns),
                          wholes<u64>(buffer_bytes, "a buffer"),
                          wholes<u32>(label, "a label"),
                          std::move(labels),
                          copied(weight),
                          {},
                          {},
                          0,
                          std::move(names),
                          std::move(tiers)};
    if (box) {
        columns.box = copied(*box);
    }
    if (coordinates) {
        columns.dimensions = static_cast<u32>(coordinates->shape(1));
        columns.coordinates = {coordinates->data(), coordinates->data() + coordinates->size()};
    }
    new (self) FabricGraph(std::move(columns));
}

struct Router {
    std::shared_ptr<const FabricGraph> graph;
    std::unique_ptr<Routing> routing;
    std::vector<u32> path;

    const std::vector<u32>& route(const Flow& flow) {
        if (flow.from >= graph->ranks() || flow.to >= graph->ranks()) {
            throw nb::index_error("a flow of a rank that the fabric does not have");
        }
        routing->route(flow, nullptr, path);
        return path;
    }
};

// Concatenated paths, and where each begins.
struct Paths {
    std::vector<u64> first;
    std::vector<u32> links;
};

// `packets`: ways of each flow, one for each of its first packets.
Paths paths_of(Router& router, const Array<i32>& from, const Array<i32>& to, const Array<i64>& number, u32 packets) {
    if (from.size() != to.size() || from.size() != number.size()) {
        throw std::invalid_argument("flows: columns of different lengths");
    }
    Paths paths;
    for (std::size_t at = 0; at < from.size(); ++at) {
        look_up();
        for (u32 packet = 0; packet < packets; ++packet) {
            paths.first.push_back(paths.links.size());
            const Flow flow{static_cast<u32>(from.data()[at]), static_cast<u32>(to.data()[at]),
                            static_cast<u64>(number.data()[at]), packet};
            const std::vector<u32>& path = router.route(flow);
            paths.links.insert(paths.links.end(), path.begin(), path.end());
        }
    }
    paths.first.push_back(paths.links.size());
    return paths;
}

void bind_routings(nb::module_& module) {
    Class<RoutingOption>(module, "RoutingOption")
        .field("name", &RoutingOption::name)
        .field("fallback", &RoutingOption::fallback)
        .field("least", &RoutingOption::least)
        .field("help", &RoutingOption::help)
        .field("is_flag", &RoutingOption::is_flag);
    Class<RoutingKind>(module, "RoutingKind")
        .field("name", &RoutingKind::name)
        .field("help", &RoutingKind::help)
        .field("by_packet", &RoutingKind::by_packet)
        .field("by_load", &RoutingKind::by_load)
        .field("options", &RoutingKind::options);
    module.def("routing_kinds", [] { return routing_kinds(); });
    module.def("broken_routing_law", nb::overload_cast<const RoutingKind&>(&broken_law), "kind"_a);
    Class<Paths> paths(module, "Paths");
    paths.column("first", &Paths::first);
    paths.column("links", &Paths::links);
    nb::class_<Router>(module, "Router")
        .def("__init__", [](Router* self, std::shared_ptr<FabricGraph> graph, std::string routing,
                            std::map<std::string, double> options, u64 seed) {
            std::unique_ptr<Routing> made = make_routing(*graph, {std::move(routing), std::move(options), seed});
            new (self) Router{std::move(graph), std::move(made), {}};
        }, "graph"_a, "routing"_a = "ecmp", "options"_a = std::map<std::string, double>{}, "seed"_a = 0)
        .def("path", [](Router& self, u32 source, u32 destination, u64 number, u32 packet) {
            return self.route({source, destination, number, packet});
        }, "source"_a, "destination"_a, "number"_a = 0, "packet"_a = 0)
        .def("paths", &paths_of, "sources"_a, "destinations"_a, "numbers"_a, "packets"_a = 1u, Interruptible());
}

}  // namespace

void register_fabric(nb::module_& module) {
    Choices<DeviceKind>(module, "DeviceKind")
        .value("RANK", DeviceKind::rank)
        .value("SWITCH", DeviceKind::switched)
        .value("NIC", DeviceKind::nic)
        .value("HOST", DeviceKind::host)
        .value("MEMORY", DeviceKind::memory);
    nb::class_<FabricGraph>(module, "FabricGraph")
        .def("__init__", &make_fabric, "ranks"_a, "kinds"_a, "link_from"_a, "link_to"_a, "bytes_per_ns"_a,
             "latency_ns"_a, "buffer_bytes"_a, "label"_a, "labels"_a, "weight"_a, "box"_a.none() = nb::none(),
             "coordinates"_a.none() = nb::none(), "names"_a = std::vector<std::string>{},
             "tiers"_a = std::vector<std::pair<std::string, u32>>{})
        .def_prop_ro("ranks", &FabricGraph::ranks)
        .def_prop_ro("devices", &FabricGraph::devices)
        .def_prop_ro("links", &FabricGraph::links)
        .def_prop_ro("labels", &FabricGraph::labels)
        .def("label_links", &FabricGraph::label_links, "label"_a)
        .def("label_bytes_per_ns", &FabricGraph::label_bytes_per_ns, "label"_a)
        .def("link_name", [](const FabricGraph& self, u32 link) {
            return link < self.links() ? self.link_name(link) : throw nb::index_error("no such link");
        }, "link"_a);
    bind_routings(module);
}

}  // namespace yantra
