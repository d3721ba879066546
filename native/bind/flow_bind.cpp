// Python's view of lists of flows, simulated alone.
#include <nanobind/ndarray.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "bind/arrays.hpp"
#include "bind/choices.hpp"
#include "bind/columns.hpp"
#include "bind/fields.hpp"
#include "bind/interruptible.hpp"
#include "bind/parts.hpp"
#include "fabric/graph.hpp"
#include "fabric/routing/routing.hpp"
#include "network/flow/flow_list.hpp"
#include "network/flow/queued_list.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace yantra {

namespace {

struct Stretches {
    std::vector<u32> link;
    std::vector<double> from_ns;
    std::vector<double> to_ns;
    std::vector<double> bytes_per_ns;
};

struct Ended {
    std::vector<u32> flow;
};

// Links of flow f: first[f] to first[f + 1].
struct Routes {
    std::vector<u64> first{0};
    std::vector<u32> links;
};

Routes routes_of(const FlowRun& run) {
    Routes routes;
    for (u32 flow = 0; flow < run.end_ns().size(); ++flow) {
        const std::span<const u32> links = run.route(flow);
        routes.links.insert(routes.links.end(), links.begin(), links.end());
        routes.first.push_back(routes.links.size());
    }
    return routes;
}

class ByLoad final : public RouteFinder {
public:
    ByLoad(std::shared_ptr<const FabricGraph> graph, const RoutingChoice& choice, std::vector<i32> from, std::vector<i32> to)
        : graph_(std::move(graph)),
          routing_(make_routing(*graph_, choice)),
          from_(std::move(from)),
          to_(std::move(to)) {}

    void find(u32 flow, const FlowLoads& loads, std::vector<u32>& path) override {
        const Shown shown(loads);
        routing_->route({static_cast<u32>(from_[flow]), static_cast<u32>(to_[flow]), flow, 0}, &shown, path);
    }

private:
    class Shown final : public LinkLoads {
    public:
        explicit Shown(const FlowLoads& of) : of_(of) {}
        double load(u32 link) const override { return of_.load(link); }

    private:
        const FlowLoads& of_;
    };

    const std::shared_ptr<const FabricGraph> graph_;
    const std::unique_ptr<Routing> routing_;
    const std::vector<i32> from_;
    const std::vector<i32> to_;
};

template <class Value>
std::vector<Value> values_of(const Array<Value>& array) {
    return {array.data(), array.data() + array.size()};
}

std::unique_ptr<FlowRun> shared(const Array<u64>& first_hop, const Array<u32>& hops, const Array<double>& bytes,
                                const Array<double>& start_ns, const Array<double>& bytes_per_ns,
                                const Array<double>& latency_ns, bool rtt_fairness,
                                const std::vector<RateChange>& changes, bool keeps_series,
                                std::shared_ptr<ByLoad> finder) {
    return share_flows({values_of(first_hop), values_of(hops), values_of(bytes), values_of(start_ns)},
                       {values_of(bytes_per_ns), values_of(latency_ns)}, rtt_fairness, changes, keeps_series,
                       std::move(finder));
}

std::unique_ptr<FlowRun> queued(const Array<u64>& first_hop, const Array<u32>& hops, const Array<double>& bytes,
                                const Array<double>& start_ns, const Array<double>& bytes_per_ns,
                                const Array<double>& latency_ns, bool keeps_series) {
    return queue_flows({values_of(first_hop), values_of(hops), values_of(bytes), values_of(start_ns)},
                       {values_of(bytes_per_ns), values_of(latency_ns)}, keeps_series);
}

Stretches in_columns(const LinkSeries& series) {
    Stretches columns;
    for (std::size_t at = 0; at < series.stretches().size(); ++at) {
        const LinkStretch& stretch = series.stretches()[at];
        columns.link.push_back(stretch.link);
        columns.from_ns.push_back(stretch.from_ns);
        columns.to_ns.push_back(stretch.to_ns);
        columns.bytes_per_ns.push_back(stretch.bytes_per_ns);
    }
    return columns;
}

}  // namespace

void register_flows(nb::module_& module) {
    nb::class_<RateChange>(module, "RateChange")
        .def(nb::init<double, u32, double>(), nb::kw_only(), "at_ns"_a, "link"_a, "bytes_per_ns"_a);
    Class<Stretches> stretches(module, "LinkStretches");
    stretches.column("link", &Stretches::link);
    stretches.column("from_ns", &Stretches::from_ns);
    stretches.column("to_ns", &Stretches::to_ns);
    stretches.column("bytes_per_ns", &Stretches::bytes_per_ns);
    Class<Ended> ended(module, "EndedFlows");
    ended.column("flow", &Ended::flow);
    Class<Routes> routes(module, "FlowRoutes");
    routes.column("first", &Routes::first);
    routes.column("links", &Routes::links);
    nb::class_<ByLoad>(module, "RoutesByLoad")
        .def("__init__", [](ByLoad* self, std::shared_ptr<FabricGraph> graph, std::string routing, u64 seed,
                            const Array<i32>& sources, const Array<i32>& destinations) {
            new (self) ByLoad(std::move(graph), {std::move(routing), {}, seed}, values_of(sources),
                              values_of(destinations));
        }, "graph"_a, "routing"_a, "seed"_a, "sources"_a, "destinations"_a);
    nb::class_<FlowRun>(module, "FlowRun")
        .def("run_for", &FlowRun::run_for, "steps"_a, Interruptible())
        .def("take_ended", [](FlowRun& run) { return Ended{run.take_ended()}; })
        .def("routes", &routes_of)
        .def_prop_ro("ended", &FlowRun::ended)
        .def_prop_ro("solves", &FlowRun::solves)
        .def_prop_ro("end_ns", [](const FlowRun& run) { return view(run.end_ns(), run); })
        .def("link_stretches", [](const FlowRun& run) { return in_columns(run.series()); });
    module.def("share_flows", &shared, nb::kw_only(), "first_hop"_a, "hops"_a, "bytes"_a, "start_ns"_a,
               "bytes_per_ns"_a, "latency_ns"_a, "rtt_fairness"_a = false,
               "changes"_a = std::vector<RateChange>{}, "keeps_series"_a = false,
               "finder"_a.none() = nb::none());
    module.def("queue_flows", &queued, nb::kw_only(), "first_hop"_a, "hops"_a, "bytes"_a, "start_ns"_a,
               "bytes_per_ns"_a, "latency_ns"_a, "keeps_series"_a = false);
}

}  // namespace yantra
