// Python's view of what a packet run recorded, as columns.
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/vector.h>

#include <limits>
#include <memory>
#include <vector>

#include "bind/choices.hpp"
#include "bind/fields.hpp"
#include "bind/parts.hpp"
#include "network/packet/seen.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace yantra {

namespace {

struct PortSeries {
    std::vector<u32> link, marks, drops, is_paused;
    std::vector<u32> queue_bytes;
    std::vector<u64> sent_bytes;
    std::vector<double> at_ns, paused_ns;
};

struct RateSeries {
    std::vector<u32> message;
    std::vector<double> at_ns, bytes_per_ns;
    std::vector<u64> window_bytes;
};

struct SeenMessages {
    std::vector<u32> source, destination;
    std::vector<u64> bytes, resent_bytes;
    std::vector<double> start_ns, arrived_ns, acknowledged_ns, alone_ns;
};

struct SeenSweeps {
    std::vector<double> at_ns;
    std::vector<u32> link, bytes;
};

// Links that sent anything.
struct LinkCounts {
    std::vector<u32> link;
    std::vector<u64> packets, bytes, queue_max_bytes, pauses, resumes, marks, drops;
    std::vector<double> paused_ns, busy_ns;
};

// NaN for what has not come.
double ns_of(u64 ticks, u64 per_ns) {
    return ticks == ~u64{0} ? std::numeric_limits<double>::quiet_NaN()
                            : static_cast<double>(ticks) / static_cast<double>(per_ns);
}

PortSeries port_series(const packet::Seen& seen) {
    PortSeries series;
    const auto& rows = seen.ports().rows();
    const std::size_t all = rows.size() + seen.present().size();
    for (std::size_t at = 0; at < all; ++at) {
        const packet::PortRow& row = at < rows.size() ? rows[at] : seen.present()[at - rows.size()];
        series.link.push_back(row.subject);
        series.at_ns.push_back(ns_of(row.tick, seen.ticks_per_ns()));
        series.queue_bytes.push_back(row.queue_bytes);
        series.sent_bytes.push_back(row.sent_bytes);
        series.paused_ns.push_back(ns_of(row.paused_ticks, seen.ticks_per_ns()));
        series.is_paused.push_back(row.is_paused() ? 1 : 0);
        series.marks.push_back(row.marks);
        series.drops.push_back(row.drops);
    }
    return series;
}

RateSeries rate_series(const packet::Seen& seen) {
    RateSeries series;
    const auto& rows = seen.rates().rows();
    for (std::size_t at = 0; at < rows.size(); ++at) {
        const packet::RateRow& row = rows[at];
        series.message.push_back(row.subject);
        series.at_ns.push_back(ns_of(row.tick, seen.ticks_per_ns()));
        series.bytes_per_ns.push_back(static_cast<double>(row.bits_per_s) / 8e9);
        series.window_bytes.push_back(row.window_bytes);
    }
    return series;
}

SeenMessages messages_of(const packet::Seen& seen) {
    SeenMessages messages;
    const u64 per_ns = seen.ticks_per_ns();
    for (std::size_t at = 0; at < seen.flows().size(); ++at) {
        const packet::SeenFlow& flow = seen.flows()[at];
        messages.source.push_back(flow.source);
        messages.destination.push_back(flow.destination);
        messages.bytes.push_back(flow.bytes);
        messages.resent_bytes.push_back(flow.resent);
        messages.start_ns.push_back(ns_of(flow.start, per_ns));
        messages.arrived_ns.push_back(ns_of(flow.arrived, per_ns));
        messages.acknowledged_ns.push_back(ns_of(flow.completed, per_ns));
        messages.alone_ns.push_back(ns_of(flow.alone, per_ns));
    }
    return messages;
}

SeenSweeps sweeps_of(const packet::Seen& seen) {
    SeenSweeps sweeps;
    for (std::size_t at = 0; at < seen.sweeps().size(); ++at) {
        const packet::SweepRow& row = seen.sweeps()[at];
        sweeps.at_ns.push_back(ns_of(row.tick, seen.ticks_per_ns()));
        sweeps.link.push_back(row.link);
        sweeps.bytes.push_back(row.bytes);
    }
    return sweeps;
}

LinkCounts link_counts(const packet::Seen& seen) {
    LinkCounts counts;
    for (u32 link = 0; link < seen.counts().size(); ++link) {
        const packet::PortCount& of = seen.counts()[link];
        if (of.packets == 0) {
            continue;
        }
        counts.link.push_back(link);
        counts.packets.push_back(of.packets);
        counts.bytes.push_back(of.bytes);
        counts.queue_max_bytes.push_back(of.queue_max_bytes);
        counts.pauses.push_back(of.pauses);
        counts.resumes.push_back(of.resumes);
        counts.marks.push_back(of.marks);
        counts.drops.push_back(of.drops);
        counts.paused_ns.push_back(ns_of(of.paused_ticks, seen.ticks_per_ns()));
        counts.busy_ns.push_back(ns_of(of.busy_ticks, seen.ticks_per_ns()));
    }
    return counts;
}

void register_columns(nb::module_& module) {
    Class<PortSeries> ports(module, "PortSeries");
    ports.column("link", &PortSeries::link);
    ports.column("at_ns", &PortSeries::at_ns);
    ports.column("queue_bytes", &PortSeries::queue_bytes);
    ports.column("sent_bytes", &PortSeries::sent_bytes);
    ports.column("paused_ns", &PortSeries::paused_ns);
    ports.column("is_paused", &PortSeries::is_paused);
    ports.column("marks", &PortSeries::marks);
    ports.column("drops", &PortSeries::drops);
    Class<RateSeries> rates(module, "RateSeries");
    rates.column("message", &RateSeries::message);
    rates.column("at_ns", &RateSeries::at_ns);
    rates.column("bytes_per_ns", &RateSeries::bytes_per_ns);
    rates.column("window_bytes", &RateSeries::window_bytes);
    Class<SeenMessages> messages(module, "SeenMessages");
    messages.column("source", &SeenMessages::source);
    messages.column("destination", &SeenMessages::destination);
    messages.column("bytes", &SeenMessages::bytes);
    messages.column("start_ns", &SeenMessages::start_ns);
    messages.column("arrived_ns", &SeenMessages::arrived_ns);
    messages.column("acknowledged_ns", &SeenMessages::acknowledged_ns);
    messages.column("alone_ns", &SeenMessages::alone_ns);
    messages.column("resent_bytes", &SeenMessages::resent_bytes);
    Class<SeenSweeps> sweeps(module, "SeenSweeps");
    sweeps.column("at_ns", &SeenSweeps::at_ns);
    sweeps.column("link", &SeenSweeps::link);
    sweeps.column("bytes", &SeenSweeps::bytes);
    Class<LinkCounts> counts(module, "LinkCounts");
    counts.column("link", &LinkCounts::link);
    counts.column("packets", &LinkCounts::packets);
    counts.column("bytes", &LinkCounts::bytes);
    counts.column("queue_max_bytes", &LinkCounts::queue_max_bytes);
    counts.column("pauses", &LinkCounts::pauses);
    counts.column("resumes", &LinkCounts::resumes);
    counts.column("marks", &LinkCounts::marks);
    counts.column("drops", &LinkCounts::drops);
    counts.column("paused_ns", &LinkCounts::paused_ns);
    counts.column("busy_ns", &LinkCounts::busy_ns);
}

}  // namespace

void register_seen_packets(nb::module_& module) {
    register_columns(module);
    nb::class_<packet::Seen>(module, "SeenPackets")
        .def_prop_ro("looks", &packet::Seen::looks)
        .def_prop_ro("every_ns", [](const packet::Seen& seen) {
            return ns_of(seen.ports().every(), seen.ticks_per_ns());
        })
        .def_prop_ro("totals", [](const packet::Seen& seen) { return seen.totals(); })
        .def("ports", &port_series)
        .def("rates", &rate_series)
        .def("messages", &messages_of)
        .def("sweeps", &sweeps_of)
        .def("counts", &link_counts);
}

}  // namespace yantra
