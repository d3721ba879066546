// Python's view of a fabric: the graph of devices and links.
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "bind/arrays.hpp"
#include "bind/parts.hpp"
#include "fabric/graph.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace yantra {

namespace {

using Table = nb::ndarray<const i32, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

// Numbers that are not negative, as the core holds them.
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
                const Array<i32>& to, const Array<double>& bytes_per_ns, const Array<double>& latency_ns,
                const Array<i64>& buffer_bytes, const Array<i32>& label, std::vector<std::string> labels,
                const Array<double>& weight, const std::optional<Array<i32>>& box,
                const std::optional<Table>& coordinates) {
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
                          0};
    if (box) {
        columns.box = copied(*box);
    }
    if (coordinates) {
        columns.dimensions = static_cast<u32>(coordinates->shape(1));
        columns.coordinates = {coordinates->data(), coordinates->data() + coordinates->size()};
    }
    new (self) FabricGraph(std::move(columns));
}

}  // namespace

void register_fabric(nb::module_& module) {
    nb::enum_<DeviceKind>(module, "DeviceKind")
        .value("RANK", DeviceKind::rank)
        .value("SWITCH", DeviceKind::switched)
        .value("NIC", DeviceKind::nic)
        .value("HOST", DeviceKind::host)
        .value("MEMORY", DeviceKind::memory);
    nb::class_<FabricGraph>(module, "FabricGraph")
        .def("__init__", &make_fabric, "ranks"_a, "kinds"_a, "link_from"_a, "link_to"_a, "bytes_per_ns"_a,
             "latency_ns"_a, "buffer_bytes"_a, "label"_a, "labels"_a, "weight"_a, "box"_a.none() = nb::none(),
             "coordinates"_a.none() = nb::none())
        .def_prop_ro("ranks", &FabricGraph::ranks)
        .def_prop_ro("devices", &FabricGraph::devices)
        .def_prop_ro("links", &FabricGraph::links)
        .def_prop_ro("labels", &FabricGraph::labels)
        .def("link_name", [](const FabricGraph& self, u32 link) {
            return link < self.links() ? self.link_name(link) : throw nb::index_error("no such link");
        }, "link"_a);
}

}  // namespace yantra
