// Python's view of lists of flows that go as packets, and of the schemes that control their rates.
#include <nanobind/ndarray.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <cmath>
#include <limits>
#include <memory>
#include <vector>

#include "bind/arrays.hpp"
#include "bind/choices.hpp"
#include "bind/columns.hpp"
#include "bind/parts.hpp"
#include "network/packet/cc_laws.hpp"
#include "network/packet/fabric_spec.hpp"
#include "network/packet/options.hpp"
#include "network/packet/packet_list.hpp"
#include "network/packet/presets.hpp"
#include "network/packet/queue_laws.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace yantra {

namespace {

template <class Value>
std::vector<Value> list_of(const Array<Value>& array) {
    return {array.data(), array.data() + array.size()};
}

// What each port did.
struct PortCounts {
    std::vector<u64> packets, bytes, queue_max_bytes, pauses, resumes, marks, drops;
    std::vector<double> paused_ns, busy_ns;
};

PortCounts counts_of(const packet::PacketRun& run) {
    PortCounts counts;
    const packet::Senders& clock = run.simulator().senders();
    for (const packet::Port& port : run.simulator().ports()) {
        counts.packets.push_back(port.packets);
        counts.bytes.push_back(port.sent_bytes);
        counts.queue_max_bytes.push_back(port.queue_max);
        counts.pauses.push_back(port.pauses);
        counts.resumes.push_back(port.resumes);
        counts.marks.push_back(port.marks);
        counts.drops.push_back(port.drops);
        const u64 open = port.is_paused ? clock.now() - port.paused_since : 0;
        counts.paused_ns.push_back(clock.ns(port.paused_ticks + open));
        counts.busy_ns.push_back(clock.ns(port.busy_ticks));
    }
    return counts;
}


std::unique_ptr<packet::PacketRun> sent(const Array<u64>& first_hop, const Array<u32>& hops,
                                        const Array<u64>& first_ack_hop, const Array<u32>& ack_hops,
                                        const Array<double>& bytes, const Array<double>& start_ns,
                                        const std::vector<u32>& after, const std::vector<double>& delay_ns,
                                        const FabricGraph& graph, const packet::Settings& settings, u32 sampled_link,
                                        double sample_ns, u32 ways, const std::vector<u64>& first_way_hop,
                                        const std::vector<u32>& way_hops) {
    LinkSpeeds speeds;
    for (u32 link = 0; link < graph.links(); ++link) {
        speeds.bytes_per_ns.push_back(graph.bytes_per_ns(link));
        speeds.latency_ns.push_back(graph.latency_ns(link));
    }
    return packet::send_packets({list_of(first_hop), list_of(hops), list_of(bytes), list_of(start_ns)},
                                {list_of(first_ack_hop), list_of(ack_hops), after, delay_ns, ways, first_way_hop, way_hops}, std::move(speeds),
                                packet::spec_of(graph, settings), settings, {sampled_link, sample_ns, {}});
}

void register_settings(nb::module_& module) {
    nb::class_<packet::QuirkLine>(module, "PacketQuirk")
        .def_prop_ro("bit", [](const packet::QuirkLine& line) { return static_cast<u32>(line.quirk); })
        .def_prop_ro("name", [](const packet::QuirkLine& line) { return std::string(line.name); })
        .def_prop_ro("help", [](const packet::QuirkLine& line) { return std::string(line.help); });
    module.def("packet_quirks", [] {
        return std::vector<packet::QuirkLine>(packet::quirk_lines.begin(), packet::quirk_lines.end());
    });
    Choices<packet::Look>(module, "PacketLook")
        .value("NOTHING", packet::Look::nothing)
        .value("SAMPLES", packet::Look::samples)
        .value("CHANGES", packet::Look::changes);
    Choices<packet::Recovery>(module, "PacketRecovery")
        .value("GO_BACK_N", packet::Recovery::go_back_n)
        .value("SELECTIVE_REPEAT", packet::Recovery::selective_repeat)
        .value("DUPLICATE_ACKS", packet::Recovery::duplicate_acks);
    nb::class_<packet::MarkLimits>(module, "MarkLimits")
        .def(nb::init<double, double, double, double>(), nb::kw_only(), "gbps"_a, "kmin_bytes"_a, "kmax_bytes"_a,
             "pmax"_a);
    nb::class_<packet::Settings>(module, "PacketSettings")
        .def(nb::init<>())
        .def_rw("congestion_control", &packet::Settings::congestion_control)
        .def_rw("options", &packet::Settings::options)
        .def_rw("quirks", &packet::Settings::quirks)
        .def_rw("seed", &packet::Settings::seed)
        .def_rw("payload_bytes", &packet::Settings::payload_bytes)
        .def_rw("has_window", &packet::Settings::has_window)
        .def_rw("variable_window", &packet::Settings::variable_window)
        .def_rw("one_window", &packet::Settings::one_window)
        .def_rw("paces_at_rate", &packet::Settings::paces_at_rate)
        .def_rw("acks_first", &packet::Settings::acks_first)
        .def_rw("queue", &packet::Settings::queue)
        .def_rw("short_message", &packet::Settings::short_message)
        .def_rw("recovery", &packet::Settings::recovery)
        .def_rw("reordering", &packet::Settings::reordering)
        .def_rw("buffer_bytes", &packet::Settings::buffer_bytes)
        .def_rw("pauses", &packet::Settings::pauses)
        .def_rw("marks", &packet::Settings::marks)
        .def_rw("limits", &packet::Settings::limits)
        .def_rw("retransmission_ns", &packet::Settings::retransmission_ns)
        .def_rw("pause_ns", &packet::Settings::pause_ns)
        .def_rw("look", &packet::Settings::look)
        .def_rw("look_every_ns", &packet::Settings::look_every_ns)
        .def_rw("max_rtt_ns", &packet::Settings::max_rtt_ns);
}

void register_schemes(nb::module_& module) {
    nb::class_<packet::SchemeOption>(module, "SchemeOption")
        .def_ro("name", &packet::SchemeOption::name)
        .def_ro("unit", &packet::SchemeOption::unit)
        .def_ro("fallback", &packet::SchemeOption::fallback)
        .def_ro("least", &packet::SchemeOption::least)
        .def_ro("help", &packet::SchemeOption::help)
        .def_ro("choices", &packet::SchemeOption::choices);
    nb::class_<packet::Scheme>(module, "Scheme")
        .def_ro("name", &packet::Scheme::name)
        .def_ro("help", &packet::Scheme::help)
        .def_ro("needs_window", &packet::Scheme::needs_window)
        .def_ro("options", &packet::Scheme::options);
    module.def("schemes", &packet::schemes);
    module.def("broken_congestion_law", nb::overload_cast<const packet::Scheme&>(&packet::broken_law), "scheme"_a);
    nb::class_<packet::Discipline>(module, "QueueDiscipline")
        .def_ro("name", &packet::Discipline::name)
        .def_ro("help", &packet::Discipline::help)
        .def_ro("options", &packet::Discipline::options);
    module.def("queue_disciplines", &packet::disciplines);
    module.def("broken_queue_law", nb::overload_cast<const packet::Discipline&>(&packet::broken_law), "discipline"_a);
    nb::class_<packet::Preset>(module, "PacketPreset")
        .def_ro("name", &packet::Preset::name)
        .def_ro("help", &packet::Preset::help);
    module.def("packet_presets", &packet::presets);
    module.def("packet_preset_of", &packet::preset_of, "scheme"_a);
    module.def("packet_options", &packet::network_options);
    module.def("packet_settings", &packet::settings_of, "preset"_a, "host_gbps"_a, "scheme"_a = "",
               "options"_a = std::map<std::string, double>{});
}

void register_counts(nb::module_& module) {
    nb::class_<PortCounts> counts(module, "PortCounts");
    yantra::column(counts, "packets", &PortCounts::packets);
    yantra::column(counts, "bytes", &PortCounts::bytes);
    yantra::column(counts, "queue_max_bytes", &PortCounts::queue_max_bytes);
    yantra::column(counts, "pauses", &PortCounts::pauses);
    yantra::column(counts, "resumes", &PortCounts::resumes);
    yantra::column(counts, "marks", &PortCounts::marks);
    yantra::column(counts, "drops", &PortCounts::drops);
    yantra::column(counts, "paused_ns", &PortCounts::paused_ns);
    yantra::column(counts, "busy_ns", &PortCounts::busy_ns);
    nb::class_<packet::Totals>(module, "PacketTotals")
        .def_ro("packets", &packet::Totals::packets)
        .def_ro("data_packets", &packet::Totals::data_packets)
        .def_ro("acks", &packet::Totals::acks)
        .def_ro("nacks", &packet::Totals::nacks)
        .def_ro("marked_acks", &packet::Totals::marked_acks)
        .def_ro("drops", &packet::Totals::drops)
        .def_ro("timeouts", &packet::Totals::timeouts);
    nb::class_<packet::Stuck>(module, "StuckPackets")
        .def_ro("cycle", &packet::Stuck::cycle)
        .def_ro("drops", &packet::Stuck::drops)
        .def_ro("dropped_on", &packet::Stuck::dropped_on)
        .def_ro("flow", &packet::Stuck::flow)
        .def_ro("flows", &packet::Stuck::flows)
        .def_ro("acknowledged", &packet::Stuck::acknowledged)
        .def_ro("bytes", &packet::Stuck::bytes)
        .def_ro("since", &packet::Stuck::since);
}

}  // namespace

void register_packets(nb::module_& module) {
    register_settings(module);
    register_schemes(module);
    register_counts(module);
    nb::class_<packet::PacketRun, FlowRun>(module, "PacketRun")
        .def_prop_ro("start_ns", [](const packet::PacketRun& run) { return view(run.start_ns(), run); })
        .def_prop_ro("completed_ns", [](const packet::PacketRun& run) { return view(run.completed_ns(), run); })
        .def_prop_ro("samples", [](const packet::PacketRun& run) { return run.samples().bytes; })
        .def_prop_ro("totals", [](const packet::PacketRun& run) { return run.simulator().totals(); })
        .def_prop_ro("events", [](const packet::PacketRun& run) { return run.simulator().events(); })
        .def("seen", [](packet::PacketRun& run) { return run.seen(); })
        .def_prop_ro("stuck", [](const packet::PacketRun& run) { return run.stuck(); })
        .def("ports", &counts_of);
    module.def("send_packets", &sent, nb::kw_only(), "first_hop"_a, "hops"_a, "first_ack_hop"_a, "ack_hops"_a,
               "bytes"_a, "start_ns"_a, "after"_a = std::vector<u32>{}, "delay_ns"_a = std::vector<double>{}, "graph"_a,
               "settings"_a, "sampled_link"_a = none, "sample_ns"_a = 0.0, "ways"_a = 0u,
               "first_way_hop"_a = std::vector<u64>{}, "way_hops"_a = std::vector<u32>{});
}

}  // namespace yantra
