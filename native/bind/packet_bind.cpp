// Python's view of flow lists as packets.
#include <nanobind/ndarray.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bind/arrays.hpp"
#include "bind/choices.hpp"
#include "bind/columns.hpp"
#include "bind/fields.hpp"
#include "bind/parts.hpp"
#include "fabric/routing/routing.hpp"
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

struct PortCounts {
    std::vector<u64> packets, bytes, queue_max_bytes, pauses, resumes, marks, drops;
    std::vector<double> paused_ns, busy_ns;
};

PortCounts counts_of(const packet::PacketRun& run) {
    PortCounts counts;
    const packet::PacketCounts all = run.counts();
    for (const packet::PortCount& port : all.ports) {
        counts.packets.push_back(port.packets);
        counts.bytes.push_back(port.bytes);
        counts.queue_max_bytes.push_back(port.queue_max_bytes);
        counts.pauses.push_back(port.pauses);
        counts.resumes.push_back(port.resumes);
        counts.marks.push_back(port.marks);
        counts.drops.push_back(port.drops);
        counts.paused_ns.push_back(static_cast<double>(port.paused_ticks) / all.ticks_per_ns);
        counts.busy_ns.push_back(static_cast<double>(port.busy_ticks) / all.ticks_per_ns);
    }
    return counts;
}

struct ByRouting final : packet::Chooser {
    ByRouting(std::shared_ptr<const FabricGraph> over, std::string name, u64 seed)
        : graph(std::move(over)), routing(make_routing(*graph, {std::move(name), {}, seed})) {}
    u32 region(u32 from, u32 to) override { return routing->region({from, to, 0, 0}); }
    void next(u32 from, u32 to, u32 device, std::vector<u32>& links) override {
        routing->next({from, to, 0, 0}, device, links);
    }
    u32 choose(const Flow& flow, u32 device, std::span<const u32> links, const LinkLoads& loads) override {
        return routing->choose(flow, device, links, &loads);
    }

    std::shared_ptr<const FabricGraph> graph;
    std::unique_ptr<Routing> routing;
};

std::unique_ptr<packet::PacketRun> sent(
    const Array<u64>& first_hop, const Array<u32>& hops, const Array<u64>& first_ack_hop,
    const Array<u32>& ack_hops, const Array<double>& bytes, const Array<double>& start_ns,
    const std::vector<u32>& after, const std::vector<double>& delay_ns, std::shared_ptr<FabricGraph> over,
    const packet::Settings& settings, u32 sampled_link, double sample_ns, u32 ways,
    const std::vector<u64>& first_way_hop, const std::vector<u32>& way_hops, u32 threads, u32 cores,
    const std::vector<u32>& parts, const std::string& steered_by, u64 routing_seed) {
    const FabricGraph& graph = *over;
    std::shared_ptr<packet::Chooser> chooser;
    if (!steered_by.empty()) {
        chooser = std::make_shared<ByRouting>(over, steered_by, routing_seed);
    }
    LinkSpeeds speeds;
    for (u32 link = 0; link < graph.links(); ++link) {
        speeds.bytes_per_ns.push_back(graph.bytes_per_ns(link));
        speeds.latency_ns.push_back(graph.latency_ns(link));
    }
    packet::Threads asked{threads, cores, {}};
    for (u32 part : parts) {
        asked.part_of.push_back(static_cast<u8>(std::min(part, packet::most_parts - 1)));
    }
    return packet::send_packets({list_of(first_hop), list_of(hops), list_of(bytes), list_of(start_ns)},
                                {list_of(first_ack_hop), list_of(ack_hops), after, delay_ns, ways, first_way_hop, way_hops,
                                 std::move(chooser)}, std::move(speeds),
                                packet::spec_of(graph, settings), settings, {sampled_link, sample_ns, {}},
                                asked);
}

void register_settings(nb::module_& module) {
    nb::class_<packet::QuirkLine>(module, "PacketQuirk")
        .def_prop_ro("bit", [](const packet::QuirkLine& line) { return static_cast<u32>(line.quirk); })
        .def_prop_ro("name", [](const packet::QuirkLine& line) { return std::string(line.name); })
        .def_prop_ro("help", [](const packet::QuirkLine& line) { return std::string(line.help); });
    module.def("packet_quirks", [] {
        return std::vector<packet::QuirkLine>(packet::quirk_lines.begin(),
                                              packet::quirk_lines.end());
    });
    Choices<packet::Look>(module, "PacketLook")
        .value("NOTHING", packet::Look::nothing)
        .value("SAMPLES", packet::Look::samples)
        .value("CHANGES", packet::Look::changes);
    Choices<packet::RecoveryKind>(module, "PacketRecovery")
        .value("GO_BACK_N", packet::RecoveryKind::go_back_n)
        .value("SELECTIVE_REPEAT", packet::RecoveryKind::selective_repeat)
        .value("DUPLICATE_ACKS", packet::RecoveryKind::duplicate_acks);
    nb::class_<packet::MarkLimits>(module, "MarkLimits")
        .def(nb::init<double, double, double, double>(), nb::kw_only(), "gbps"_a, "kmin_bytes"_a, "kmax_bytes"_a,
             "pmax"_a);
    Class<packet::Settings>(module, "PacketSettings")
        .setting("congestion_control", &packet::Settings::congestion_control)
        .setting("options", &packet::Settings::options)
        .setting("quirks", &packet::Settings::quirks)
        .setting("seed", &packet::Settings::seed)
        .setting("payload_bytes", &packet::Settings::payload_bytes)
        .setting("has_window", &packet::Settings::has_window)
        .setting("variable_window", &packet::Settings::variable_window)
        .setting("one_window", &packet::Settings::one_window)
        .setting("paces_at_rate", &packet::Settings::paces_at_rate)
        .setting("acks_first", &packet::Settings::acks_first)
        .setting("queue", &packet::Settings::queue)
        .setting("short_message", &packet::Settings::short_message)
        .setting("recovery", &packet::Settings::recovery)
        .setting("reordering", &packet::Settings::reordering)
        .setting("buffer_bytes", &packet::Settings::buffer_bytes)
        .setting("pauses", &packet::Settings::pauses)
        .setting("marks", &packet::Settings::marks)
        .setting("limits", &packet::Settings::limits)
        .setting("retransmission_ns", &packet::Settings::retransmission_ns)
        .setting("pause_ns", &packet::Settings::pause_ns)
        .setting("look", &packet::Settings::look)
        .setting("look_every_ns", &packet::Settings::look_every_ns)
        .setting("max_rtt_ns", &packet::Settings::max_rtt_ns)
        .def(nb::init<>());
}

void register_schemes(nb::module_& module) {
    Class<packet::SchemeOption>(module, "SchemeOption")
        .field("name", &packet::SchemeOption::name)
        .field("unit", &packet::SchemeOption::unit)
        .field("fallback", &packet::SchemeOption::fallback)
        .field("least", &packet::SchemeOption::least)
        .field("help", &packet::SchemeOption::help)
        .field("choices", &packet::SchemeOption::choices);
    Class<packet::Scheme>(module, "Scheme")
        .field("name", &packet::Scheme::name)
        .field("help", &packet::Scheme::help)
        .field("needs_window", &packet::Scheme::needs_window)
        .field("options", &packet::Scheme::options);
    module.def("schemes", &packet::schemes);
    module.def("broken_congestion_law", nb::overload_cast<const packet::Scheme&>(&packet::broken_law), "scheme"_a);
    Class<packet::Discipline>(module, "QueueDiscipline")
        .field("name", &packet::Discipline::name)
        .field("help", &packet::Discipline::help)
        .field("options", &packet::Discipline::options);
    module.def("queue_disciplines", &packet::disciplines);
    module.def("broken_queue_law", nb::overload_cast<const packet::Discipline&>(&packet::broken_law), "discipline"_a);
    Class<packet::Preset>(module, "PacketPreset")
        .field("name", &packet::Preset::name)
        .field("help", &packet::Preset::help);
    module.def("packet_presets", &packet::presets);
    module.def("packet_header_bytes", &packet::header_bytes, "settings"_a);
    module.def("packet_preset_of", &packet::preset_of, "scheme"_a);
    module.def("packet_options", &packet::network_options);
    module.def("packet_settings", &packet::settings_of, "preset"_a, "host_gbps"_a, "scheme"_a = "",
               "options"_a = std::map<std::string, double>{});
}

void register_counts(nb::module_& module) {
    Class<PortCounts> counts(module, "PortCounts");
    counts.column("packets", &PortCounts::packets);
    counts.column("bytes", &PortCounts::bytes);
    counts.column("queue_max_bytes", &PortCounts::queue_max_bytes);
    counts.column("pauses", &PortCounts::pauses);
    counts.column("resumes", &PortCounts::resumes);
    counts.column("marks", &PortCounts::marks);
    counts.column("drops", &PortCounts::drops);
    counts.column("paused_ns", &PortCounts::paused_ns);
    counts.column("busy_ns", &PortCounts::busy_ns);
    Class<packet::Totals>(module, "PacketTotals")
        .field("packets", &packet::Totals::packets)
        .field("data_packets", &packet::Totals::data_packets)
        .field("acks", &packet::Totals::acks)
        .field("nacks", &packet::Totals::nacks)
        .field("marked_acks", &packet::Totals::marked_acks)
        .field("drops", &packet::Totals::drops)
        .field("trims", &packet::Totals::trims)
        .field("grants", &packet::Totals::grants)
        .field("timeouts", &packet::Totals::timeouts)
        .field("timeouts_without_loss", &packet::Totals::timeouts_without_loss)
        .field("skipped", &packet::Totals::skipped);
    Class<packet::Stuck>(module, "StuckPackets")
        .field("cycle", &packet::Stuck::cycle)
        .field("drops", &packet::Stuck::drops)
        .field("dropped_on", &packet::Stuck::dropped_on)
        .field("flow", &packet::Stuck::flow)
        .field("flows", &packet::Stuck::flows)
        .field("acknowledged", &packet::Stuck::acknowledged)
        .field("bytes", &packet::Stuck::bytes)
        .field("since", &packet::Stuck::since);
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
        .def_prop_ro("totals", [](const packet::PacketRun& run) { return run.counts().totals; })
        .def_prop_ro("events", [](const packet::PacketRun& run) { return run.counts().events; })
        .def_prop_ro("threads", [](const packet::PacketRun& run) { return run.partition().parts; })
        .def_prop_ro("why_threads", [](const packet::PacketRun& run) { return run.partition().why; })
        .def("seen", [](packet::PacketRun& run) { return run.seen(); })
        .def_prop_ro("stuck", [](const packet::PacketRun& run) { return run.stuck(); })
        .def("ports", &counts_of);
    module.def("send_packets", &sent, nb::kw_only(), "first_hop"_a, "hops"_a, "first_ack_hop"_a, "ack_hops"_a,
               "bytes"_a, "start_ns"_a, "after"_a = std::vector<u32>{}, "delay_ns"_a = std::vector<double>{}, "graph"_a,
               "settings"_a, "sampled_link"_a = none, "sample_ns"_a = 0.0, "ways"_a = 0u,
               "first_way_hop"_a = std::vector<u64>{}, "way_hops"_a = std::vector<u32>{},
               "threads"_a = 1u, "cores"_a = 1u, "parts"_a = std::vector<u32>{}, "steered_by"_a = "", "routing_seed"_a = u64{0});
}

}  // namespace yantra
