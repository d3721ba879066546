// Python's view of networks on chip.
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <string>
#include <tuple>
#include <vector>

#include "bind/choices.hpp"
#include "bind/fields.hpp"
#include "bind/interruptible.hpp"
#include "bind/parts.hpp"
#include "network/noc/load.hpp"
#include "network/noc/router.hpp"
#include "network/noc/routing.hpp"
#include "network/noc/settings.hpp"
#include "network/noc/traffic.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace yantra {

namespace {

using Names = std::vector<std::pair<std::string, std::string>>;

template <class Kind>
Names names_of(const std::vector<Kind>& kinds) {
    Names names;
    for (const Kind& kind : kinds) {
        names.emplace_back(kind.name, kind.help);
    }
    return names;
}

noc::Settings noc_settings(const std::vector<std::tuple<u32, bool, u32>>& dimensions, u32 nodes_per_router,
                           const std::string& router, const std::string& routing, u32 vcs, u32 buffer_flits,
                           u32 packet_flits, u32 router_cycles, u64 seed) {
    noc::Settings made{{}, nodes_per_router, router, routing, vcs, buffer_flits, packet_flits, router_cycles, seed};
    for (const auto& [size, wraps, link_cycles] : dimensions) {
        made.dimensions.push_back({size, wraps, link_cycles});
    }
    noc::check(made);
    noc::find_routing(routing)->make(noc::Shape(made.dimensions, nodes_per_router), vcs);
    return made;
}

void register_points(nb::module_& module) {
    nb::class_<noc::LoadOptions>(module, "NocLoadOptions")
        .def(nb::init<std::string, u32, u64, u32, u32, double>(), nb::kw_only(), "traffic"_a, "hotspot"_a,
             "sample_cycles"_a, "warmup_samples"_a, "most_samples"_a, "unstable_cycles"_a);
    Class<noc::LoadPoint>(module, "NocLoadPoint")
        .field("rate", &noc::LoadPoint::rate)
        .field("accepted", &noc::LoadPoint::accepted)
        .field("packet_latency", &noc::LoadPoint::packet_latency)
        .field("network_latency", &noc::LoadPoint::network_latency)
        .field("latency_p50", &noc::LoadPoint::latency_p50)
        .field("latency_p99", &noc::LoadPoint::latency_p99)
        .field("latency_most", &noc::LoadPoint::latency_most)
        .field("routers", &noc::LoadPoint::routers)
        .field("is_stable", &noc::LoadPoint::is_stable)
        .field("packets", &noc::LoadPoint::packets)
        .field("cycles", &noc::LoadPoint::cycles)
        .field("flit_hops", &noc::LoadPoint::flit_hops);
}

}  // namespace

void register_noc(nb::module_& module) {
    nb::class_<noc::Settings>(module, "NocSettings");
    register_points(module);
    module.def("noc_settings", &noc_settings, nb::kw_only(), "dimensions"_a, "nodes_per_router"_a, "router"_a,
               "routing"_a, "vcs"_a, "buffer_flits"_a, "packet_flits"_a, "router_cycles"_a, "seed"_a);
    module.def("noc_routings", [] { return names_of(noc::routings()); });
    module.def("noc_routers", [] { return names_of(noc::routers()); });
    module.def("noc_traffics", [] { return names_of(noc::traffics()); });
    module.def("measure_noc", &noc::measure, Interruptible(), "settings"_a, "options"_a,
               "rate"_a);
    module.def("noc_zero_load_latency", &noc::zero_load_latency, Interruptible(),
               "settings"_a, "options"_a);
    module.def("noc_saturation", [](const noc::Settings& settings, const noc::LoadOptions& options, double within) {
        const noc::Saturation found = noc::saturation(settings, options, within);
        return std::pair(found.stable, found.unstable);
    }, Interruptible(), "settings"_a, "options"_a, "within"_a);
}

}  // namespace yantra
