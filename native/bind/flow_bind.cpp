// Python's view of lists of flows, which are simulated alone.
#include <nanobind/ndarray.h>
#include <nanobind/stl/unique_ptr.h>

#include <memory>

#include "base/vector.hpp"
#include "bind/arrays.hpp"
#include "bind/choices.hpp"
#include "bind/columns.hpp"
#include "bind/fields.hpp"
#include "bind/interruptible.hpp"
#include "bind/parts.hpp"
#include "bind/vectors.hpp"
#include "network/flow/flow_list.hpp"
#include "network/flow/queued_list.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace yantra {

namespace {

struct Stretches {
    Vector<u32> link;
    Vector<double> from_ns;
    Vector<double> to_ns;
    Vector<double> bytes_per_ns;
};

struct Ended {
    Vector<u32> flow;
};

template <class Value>
Vector<Value> values_of(const Array<Value>& array) {
    return {array.data(), array.data() + array.size()};
}

std::unique_ptr<FlowRun> shared(const Array<u64>& first_hop, const Array<u32>& hops, const Array<double>& bytes,
                                const Array<double>& start_ns, const Array<double>& bytes_per_ns,
                                const Array<double>& latency_ns, bool rtt_fairness,
                                const Vector<RateChange>& changes, bool keeps_series) {
    return share_flows({values_of(first_hop), values_of(hops), values_of(bytes), values_of(start_ns)},
                       {values_of(bytes_per_ns), values_of(latency_ns)}, rtt_fairness, changes, keeps_series);
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
    nb::class_<FlowRun>(module, "FlowRun")
        .def("run_for", &FlowRun::run_for, "steps"_a, Interruptible())
        .def("take_ended", [](FlowRun& run) { return Ended{run.take_ended()}; })
        .def_prop_ro("ended", &FlowRun::ended)
        .def_prop_ro("solves", &FlowRun::solves)
        .def_prop_ro("end_ns", [](const FlowRun& run) { return view(run.end_ns(), run); })
        .def("link_stretches", [](const FlowRun& run) { return in_columns(run.series()); });
    module.def("share_flows", &shared, nb::kw_only(), "first_hop"_a, "hops"_a, "bytes"_a, "start_ns"_a,
               "bytes_per_ns"_a, "latency_ns"_a, "rtt_fairness"_a = false,
               "changes"_a = Vector<RateChange>{}, "keeps_series"_a = false);
    module.def("queue_flows", &queued, nb::kw_only(), "first_hop"_a, "hops"_a, "bytes"_a, "start_ns"_a,
               "bytes_per_ns"_a, "latency_ns"_a, "keeps_series"_a = false);
}

}  // namespace yantra
