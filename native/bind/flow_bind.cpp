// Python's view of lists of flows at max-min fair rates.
#include <nanobind/ndarray.h>
#include <nanobind/stl/vector.h>

#include <vector>

#include "bind/arrays.hpp"
#include "bind/columns.hpp"
#include "bind/parts.hpp"
#include "network/flow/flow_list.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace yantra {

namespace {

template <class Value>
std::vector<Value> values_of(const Array<Value>& array) {
    return {array.data(), array.data() + array.size()};
}

FlowTimes simulate_columns(const Array<u64>& first_hop, const Array<u32>& hops, const Array<double>& bytes,
                           const Array<double>& start_ns, const Array<double>& bytes_per_ns,
                           const Array<double>& latency_ns, bool rtt_fairness,
                           const std::vector<RateChange>& changes) {
    const FlowList flows{values_of(first_hop), values_of(hops), values_of(bytes), values_of(start_ns)};
    const std::vector<double> rates = values_of(bytes_per_ns);
    const std::vector<double> latencies = values_of(latency_ns);
    const nb::gil_scoped_release unlocked;
    return simulate_flows(flows, rates, latencies, rtt_fairness, changes);
}

}  // namespace

void register_flows(nb::module_& module) {
    nb::class_<RateChange>(module, "RateChange")
        .def(nb::init<double, u32, double>(), nb::kw_only(), "at_ns"_a, "link"_a, "bytes_per_ns"_a);
    nb::class_<FlowTimes> times(module, "FlowTimes");
    column(times, "end_ns", &FlowTimes::end_ns);
    times.def_ro("solves", &FlowTimes::solves);
    module.def("simulate_flows", &simulate_columns, nb::kw_only(), "first_hop"_a, "hops"_a, "bytes"_a,
               "start_ns"_a, "bytes_per_ns"_a, "latency_ns"_a, "rtt_fairness"_a = false,
               "changes"_a = std::vector<RateChange>{});
}

}  // namespace yantra
