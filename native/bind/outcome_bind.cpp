// Python's view of what a run leaves behind, and of the accounting that needs no recording.
//
// Columns of an Outcome are shared, not copied: each memoryview keeps its owner alive.
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "accounting/statistics.hpp"
#include "bind/choices.hpp"
#include "bind/columns.hpp"
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
    nb::class_<Waiting>(module, "Waiting")
        .def_ro("rank", &Waiting::rank)
        .def_ro("node", &Waiting::node)
        .def_ro("is_cause", &Waiting::is_cause)
        .def_ro("for_message", &Waiting::for_message)
        .def_ro("since", &Waiting::since)
        .def_ro("bytes", &Waiting::bytes)
        .def_prop_ro("other_bytes", [](const Waiting& w) { return unless_never(w.other_bytes); })
        .def_ro("sends", &Waiting::sends)
        .def_ro("peer_finished", &Waiting::peer_finished)
        .def_ro("peer", &Waiting::peer)
        .def_ro("tag", &Waiting::tag)
        .def_prop_ro("other_tag", [](const Waiting& w) { return unless_none(w.other_tag); })
        .def_prop_ro("peer_node", [](const Waiting& w) { return unless_none(w.peer_node); })
        .def_prop_ro("kind", [](const Waiting& w) { return typed_unless_none<CollectiveKind>(w.kind); })
        .def_ro("collective_bytes", &Waiting::collective_bytes)
        .def_prop_ro("communicator", [](const Waiting& w) {
            return typed_unless_none<CommunicatorId>(w.communicator);
        })
        .def_ro("missing", &Waiting::missing)
        .def_ro("missing_count", &Waiting::missing_count)
        .def_prop_ro("other_rank", [](const Waiting& w) { return unless_none(w.other_rank); })
        .def_prop_ro("other_node", [](const Waiting& w) { return unless_none(w.other_node); })
        .def_prop_ro("other_kind", [](const Waiting& w) {
            return typed_unless_none<CollectiveKind>(w.other_kind);
        })
        .def_prop_ro("inner_node", [](const Waiting& w) {
            return w.inner_chunk == none ? std::nullopt : std::optional(w.inner_node);
        })
        .def_ro("inner_name", &Waiting::inner_name);
}

void bind_findings(nb::module_& module) {
    nb::class_<Mismatch>(module, "Mismatch")
        .def_ro("rank", &Mismatch::rank)
        .def_ro("node", &Mismatch::node)
        .def_ro("other_rank", &Mismatch::other_rank)
        .def_ro("other_node", &Mismatch::other_node);
    nb::class_<Unreceived>(module, "Unreceived")
        .def_ro("source", &Unreceived::src)
        .def_ro("destination", &Unreceived::dst)
        .def_ro("tag", &Unreceived::tag)
        .def_ro("bytes", &Unreceived::bytes);
    nb::class_<LinkUse>(module, "LinkUse")
        .def_ro("bytes", &LinkUse::bytes)
        .def_ro("messages", &LinkUse::messages)
        .def_ro("busy_ticks", &LinkUse::busy_ticks);
    nb::class_<Disturbance>(module, "Disturbance")
        .def_ro("rerouted", &Disturbance::rerouted)
        .def_ro("waited", &Disturbance::waited)
        .def_ro("waited_ticks", &Disturbance::waited_ticks)
        .def_ro("lost_packets", &Disturbance::lost_packets)
        .def_ro("lost_bytes", &Disturbance::lost_bytes);
    nb::class_<LinkRecord>(module, "LinkRecord")
        .def_ro("dimension", &LinkRecord::dimension)
        .def_prop_ro("source", [](const LinkRecord& link) { return unless_none(link.from); })
        .def_prop_ro("destination", [](const LinkRecord& link) { return unless_none(link.to); })
        .def_ro("use", &LinkRecord::use)
        .def_ro("bytes_per_ns", &LinkRecord::bytes_per_ns);
}

void bind_happenings(nb::module_& module) {
    nb::class_<Happening> happening(module, "Happening");
    Choices<Happening::What>(happening, "What")
        .value("STARTS", Happening::starts)
        .value("ENDS", Happening::ends)
        .value("FINISHES", Happening::finishes);
    happening.def_ro("rank", &Happening::rank)
        .def_prop_ro("node", [](const Happening& h) { return unless_none(h.node); })
        .def_ro("what", &Happening::what);
    Choices<Notes>(module, "Notes")
        .value("NOTHING", Notes::nothing)
        .value("GROUPS", Notes::groups)
        .value("NODES", Notes::nodes);
}

// The entries of collectives are noted when somebody asks for what depends on them.
const Outcome& whole(Outcome& outcome) {
    if (outcome.note_entries) {
        std::exchange(outcome.note_entries, nullptr)(outcome);
    }
    return outcome;
}

void bind_outcome(nb::module_& module) {
    nb::class_<Outcome> outcome(module, "Outcome");
    column(outcome, "finish", &Outcome::finish);
    column(outcome, "finish_order", &Outcome::finish_order);
    column(outcome, "compute_busy", &Outcome::compute_busy);
    column(outcome, "first_node", &Outcome::first_node);
    column(outcome, "start", &Outcome::start);
    column(outcome, "end", &Outcome::end);
    outcome.def_prop_ro("begun", [](Outcome& self) { return view(whole(self).begun, self); });
    column(outcome, "class_of", &Outcome::class_of);
    outcome.def_ro("dimensions", &Outcome::dimensions)
        .def_ro("busiest", &Outcome::busiest)
        .def_ro("disturbance", &Outcome::disturbance)
        .def_prop_ro("packets", [](const Outcome& o) { return std::const_pointer_cast<packet::Seen>(o.packets); })
        .def_ro("finished", &Outcome::finished)
        .def_ro("folded", &Outcome::folded)
        .def_ro("events", &Outcome::events)
        .def_ro("messages", &Outcome::messages)
        .def_ro("last_tick", &Outcome::last_tick)
        .def_prop_ro("links", [](const Outcome& o) {
            return o.links_on_demand ? o.links_on_demand() : o.links;
        })
        .def_ro("waiting", &Outcome::waiting)
        .def_ro("happenings", &Outcome::happenings)
        .def_ro("unreceived", &Outcome::unreceived);
}

void bind_statistics(nb::module_& module) {
    nb::class_<RankStatistics>(module, "RankStatistics")
        .def_ro("wall", &RankStatistics::wall)
        .def_ro("classes", &RankStatistics::classes)
        .def("ticks_of", [](const RankStatistics& s, NodeClass which) {
            return s.class_ticks[static_cast<std::size_t>(which)];
        }, "node_class"_a)
        .def_ro("overlap", &RankStatistics::overlap)
        .def_ro("compute_bound", &RankStatistics::compute_bound)
        .def_ro("compute_utilisation", &RankStatistics::compute_utilisation)
        .def_ro("memory_utilisation", &RankStatistics::memory_utilisation)
        .def_ro("operation_intensity", &RankStatistics::operation_intensity);
    nb::class_<Breakdown>(module, "Breakdown")
        .def_ro("compute", &Breakdown::compute)
        .def_ro("exposed_communication", &Breakdown::exposed_communication)
        .def_ro("exposed_memory", &Breakdown::exposed_memory)
        .def_ro("exposed_host", &Breakdown::exposed_host)
        .def_ro("waiting", &Breakdown::waiting)
        .def_ro("idle", &Breakdown::idle)
        .def_ro("communication", &Breakdown::communication);
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
