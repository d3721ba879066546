// Python's view of a run's results, and of accounting without a recording.
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <optional>
#include <utility>

#include "accounting/statistics.hpp"
#include "bind/choices.hpp"
#include "bind/columns.hpp"
#include "bind/fields.hpp"
#include "bind/optional.hpp"
#include "bind/parts.hpp"
#include "collective/kind.hpp"
#include "network/packet/seen.hpp"
#include "run/outcome.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace yantra {

namespace {

void bind_waiting(nb::module_& module) {
    Class<Waiting>(module, "Waiting")
        .field("rank", &Waiting::rank)
        .field("node", &Waiting::node)
        .field("is_cause", &Waiting::is_cause)
        .field("for_message", &Waiting::for_message)
        .field("since", &Waiting::since)
        .field("bytes", &Waiting::bytes)
        .field("sends", &Waiting::sends)
        .field("peer_finished", &Waiting::peer_finished)
        .field("peer", &Waiting::peer)
        .field("tag", &Waiting::tag)
        .field("collective_bytes", &Waiting::collective_bytes)
        .field("missing", &Waiting::missing)
        .field("missing_count", &Waiting::missing_count)
        .field("inner_name", &Waiting::inner_name)
        .def_prop_ro("other_bytes", [](const Waiting& w) { return unless_never(w.other_bytes); })
        .def_prop_ro("other_tag", [](const Waiting& w) { return unless_none(w.other_tag); })
        .def_prop_ro("peer_node", [](const Waiting& w) { return unless_none(w.peer_node); })
        .def_prop_ro("kind", [](const Waiting& w) { return typed_unless_none<CollectiveKind>(w.kind); })
        .def_prop_ro("communicator", [](const Waiting& w) {
            return typed_unless_none<CommunicatorId>(w.communicator);
        })
        .def_prop_ro("other_rank", [](const Waiting& w) { return unless_none(w.other_rank); })
        .def_prop_ro("other_node", [](const Waiting& w) { return unless_none(w.other_node); })
        .def_prop_ro("other_kind", [](const Waiting& w) {
            return typed_unless_none<CollectiveKind>(w.other_kind);
        })
        .def_prop_ro("inner_node", [](const Waiting& w) {
            return w.inner_chunk == none ? std::nullopt : std::optional(w.inner_node);
        });
}

void bind_findings(nb::module_& module) {
    Class<Mismatch>(module, "Mismatch")
        .field("rank", &Mismatch::rank)
        .field("node", &Mismatch::node)
        .field("other_rank", &Mismatch::other_rank)
        .field("other_node", &Mismatch::other_node);
    Class<CutSizes>(module, "CutSizes")
        .field("count", &CutSizes::count)
        .field("bytes", &CutSizes::bytes)
        .field("kept", &CutSizes::kept);
    Class<Unreceived>(module, "Unreceived")
        .field("source", &Unreceived::src)
        .field("destination", &Unreceived::dst)
        .field("tag", &Unreceived::tag)
        .field("bytes", &Unreceived::bytes);
    Class<LinkUse>(module, "LinkUse")
        .field("bytes", &LinkUse::bytes)
        .field("messages", &LinkUse::messages)
        .field("busy_ticks", &LinkUse::busy_ticks);
    Class<Disturbance>(module, "Disturbance")
        .field("rerouted", &Disturbance::rerouted)
        .field("waited", &Disturbance::waited)
        .field("waited_ticks", &Disturbance::waited_ticks)
        .field("lost_packets", &Disturbance::lost_packets)
        .field("lost_bytes", &Disturbance::lost_bytes);
    Class<LinkRecord>(module, "LinkRecord")
        .field("dimension", &LinkRecord::dimension)
        .field("use", &LinkRecord::use)
        .field("bytes_per_ns", &LinkRecord::bytes_per_ns)
        .def_prop_ro("source", [](const LinkRecord& link) { return unless_none(link.from); })
        .def_prop_ro("destination", [](const LinkRecord& link) { return unless_none(link.to); });
}

void bind_happenings(nb::module_& module) {
    Class<Happening> happening(module, "Happening");
    Choices<Happening::What>(happening, "What")
        .value("STARTS", Happening::starts)
        .value("ENDS", Happening::ends)
        .value("FINISHES", Happening::finishes);
    happening.field("rank", &Happening::rank)
        .field("what", &Happening::what)
        .def_prop_ro("node", [](const Happening& h) { return unless_none(h.node); });
    Choices<Notes>(module, "Notes")
        .value("NOTHING", Notes::nothing)
        .value("GROUPS", Notes::groups)
        .value("NODES", Notes::nodes);
}

// Entries of collectives are noted on demand.
const Outcome& whole(Outcome& outcome) {
    if (outcome.note_entries) {
        std::exchange(outcome.note_entries, nullptr)(outcome);
    }
    return outcome;
}

void bind_outcome(nb::module_& module) {
    Class<Outcome> outcome(module, "Outcome");
    outcome.column("finish", &Outcome::finish);
    outcome.column("finish_order", &Outcome::finish_order);
    outcome.column("compute_busy", &Outcome::compute_busy);
    outcome.column("first_node", &Outcome::first_node);
    outcome.column("start", &Outcome::start);
    outcome.column("end", &Outcome::end);
    outcome.def_prop_ro("begun", [](Outcome& self) { return view(whole(self).begun, self); });
    outcome.column("class_of", &Outcome::class_of);
    outcome.field("dimensions", &Outcome::dimensions)
        .field("busiest", &Outcome::busiest)
        .field("disturbance", &Outcome::disturbance)
        .field("finished", &Outcome::finished)
        .field("folded", &Outcome::folded)
        .field("events", &Outcome::events)
        .field("messages", &Outcome::messages)
        .field("last_tick", &Outcome::last_tick)
        .field("waiting", &Outcome::waiting)
        .field("happenings", &Outcome::happenings)
        .field("unreceived", &Outcome::unreceived)
        .field("under_way", &Outcome::under_way)
        .field("cut", &Outcome::cut)
        .def_prop_ro("packets", [](const Outcome& o) { return std::const_pointer_cast<packet::Seen>(o.packets); })
        .def_prop_ro("threads", [](const Outcome& of) { return of.threads.count; })
        .def_prop_ro("why_threads", [](const Outcome& of) { return of.threads.why; })
        .def_prop_ro("links", [](const Outcome& o) {
            return o.links_on_demand ? o.links_on_demand() : o.links;
        });
}

void bind_statistics(nb::module_& module) {
    Class<RankStatistics>(module, "RankStatistics")
        .field("wall", &RankStatistics::wall)
        .field("classes", &RankStatistics::classes)
        .field("overlap", &RankStatistics::overlap)
        .field("compute_bound", &RankStatistics::compute_bound)
        .field("compute_utilisation", &RankStatistics::compute_utilisation)
        .field("memory_utilisation", &RankStatistics::memory_utilisation)
        .field("operation_intensity", &RankStatistics::operation_intensity)
        .def("ticks_of", [](const RankStatistics& s, NodeClass which) {
            return s.class_ticks[static_cast<std::size_t>(which)];
        }, "node_class"_a);
    Class<Breakdown>(module, "Breakdown")
        .field("compute", &Breakdown::compute)
        .field("exposed_communication", &Breakdown::exposed_communication)
        .field("exposed_memory", &Breakdown::exposed_memory)
        .field("exposed_host", &Breakdown::exposed_host)
        .field("unexplained_device", &Breakdown::unexplained_device)
        .field("unexplained_host", &Breakdown::unexplained_host)
        .field("waiting", &Breakdown::waiting)
        .field("idle", &Breakdown::idle)
        .field("communication", &Breakdown::communication);
    module.def("rank_statistics", [](const Model& model, Outcome& outcome, u32 rank, const Roofline& roofline) {
        return rank_statistics(model, whole(outcome), rank, roofline);
    }, "model"_a, "outcome"_a, "rank"_a, "roofline"_a);
    module.def("breakdown", [](const Model& model, Outcome& outcome, u32 rank) {
        return breakdown(model, whole(outcome), rank);
    }, "model"_a, "outcome"_a, "rank"_a);
}

}  // namespace

void register_outcome(nb::module_& module) {
    bind_waiting(module);
    bind_findings(module);
    bind_happenings(module);
    bind_outcome(module);
    bind_statistics(module);
}

}  // namespace yantra
