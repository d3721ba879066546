// Python's view of recorded runs and their analyses.
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/vector.h>

#include <utility>
#include <vector>

#include "accounting/collectives.hpp"
#include "accounting/link_load.hpp"
#include "accounting/messages.hpp"
#include "accounting/slack.hpp"
#include "accounting/steps.hpp"
#include "accounting/utilisation.hpp"
#include "bind/choices.hpp"
#include "bind/fields.hpp"
#include "bind/held_run.hpp"
#include "bind/parts.hpp"
#include "record/recorder.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace yantra {

namespace {

struct StepColumns {
    std::vector<u8> kind;
    std::vector<u32> rank;
    std::vector<u32> node;
    std::vector<u32> peer;
    std::vector<u32> dimension;
    std::vector<u64> start;
    std::vector<u64> end;
};

struct Slack {
    std::vector<u64> ticks;
};

StepColumns in_columns(const std::vector<Step>& steps) {
    StepColumns columns;
    for (const Step& step : steps) {
        columns.kind.push_back(static_cast<u8>(step.kind));
        columns.rank.push_back(step.rank);
        columns.node.push_back(step.node);
        columns.peer.push_back(step.peer);
        columns.dimension.push_back(step.dimension);
        columns.start.push_back(step.start);
        columns.end.push_back(step.end);
    }
    return columns;
}

void bind_columns(nb::module_& module) {
    Choices<StepKind>(module, "StepKind")
        .value("COMPUTE", StepKind::compute)
        .value("MEMORY", StepKind::memory)
        .value("HOST", StepKind::host)
        .value("LATENCY", StepKind::latency)
        .value("WIRE", StepKind::wire)
        .value("QUEUED", StepKind::queued)
        .value("HAND_OVER", StepKind::hand_over)
        .value("REDUCTION", StepKind::reduction)
        .value("WAITING", StepKind::waiting)
        .value("OTHER", StepKind::other)
        .value("UNEXPLAINED_DEVICE", StepKind::unexplained_device)
        .value("UNEXPLAINED_HOST", StepKind::unexplained_host)
        .value("BEGIN", StepKind::begin)
        .value("COMMUNICATION", StepKind::communication);
    Class<StepColumns> steps(module, "Steps");
    steps.column("kind", &StepColumns::kind);
    steps.column("rank", &StepColumns::rank);
    steps.column("node", &StepColumns::node);
    steps.column("peer", &StepColumns::peer);
    steps.column("dimension", &StepColumns::dimension);
    steps.column("start", &StepColumns::start);
    steps.column("end", &StepColumns::end);
    Class<Messages> messages(module, "Messages");
    messages.column("source", &Messages::source);
    messages.column("destination", &Messages::destination);
    messages.column("tag", &Messages::tag);
    messages.column("bytes", &Messages::bytes);
    messages.column("dimension", &Messages::dimension);
    messages.column("sent", &Messages::sent);
    messages.column("arrived", &Messages::arrived);
    messages.column("queued", &Messages::queued);
    messages.column("node", &Messages::node);
    messages.column("peer_node", &Messages::peer_node);
    messages.column("alike", &Messages::alike);
    Class<CollectiveParts> parts(module, "CollectiveParts");
    parts.column("place", &CollectiveParts::place);
    parts.column("waiting_peers", &CollectiveParts::waiting_peers);
    parts.column("queued", &CollectiveParts::queued);
    parts.column("latency", &CollectiveParts::latency);
    parts.column("wire", &CollectiveParts::wire);
    parts.column("hand_over", &CollectiveParts::hand_over);
    parts.column("reducing", &CollectiveParts::reducing);
    Class<Utilisation> utilisation(module, "Utilisation");
    utilisation.column("edges", &Utilisation::edges);
    utilisation.column("bytes", &Utilisation::bytes);
    Class<LinkRates> rates(module, "LinkRates");
    rates.column("row", &LinkRates::row);
    rates.column("from_ns", &LinkRates::from_ns);
    rates.column("to_ns", &LinkRates::to_ns);
    rates.column("bytes_per_ns", &LinkRates::bytes_per_ns);
    Class<LinkCrossings> crossings(module, "LinkCrossings");
    crossings.column("row", &LinkCrossings::row);
    crossings.column("sender", &LinkCrossings::sender);
    crossings.column("receiver", &LinkCrossings::receiver);
    crossings.column("node", &LinkCrossings::node);
    crossings.column("start", &LinkCrossings::start);
    crossings.column("end", &LinkCrossings::end);
    crossings.column("bytes", &LinkCrossings::bytes);
    Class<Slack> slacks(module, "Slack");
    slacks.column("ticks", &Slack::ticks);
}

}  // namespace

void register_recording(nb::module_& module) {
    nb::exception<RecordingTooLarge>(module, "RecordingTooLarge");
    bind_columns(module);
    const auto unlocked = nb::call_guard<nb::gil_scoped_release>();
    nb::class_<Recording>(module, "Recording")
        .def_prop_ro("moments", [](const Recording& r) { return r.moments.size(); })
        .def_prop_ro("bytes", &Recording::bytes)
        .def("critical_path", [](const Recording& r, const Model& model, const Outcome& outcome) {
            return in_columns(critical_path(model, outcome, r));
        }, "model"_a, "outcome"_a, unlocked)
        .def("waited_for", [](const Recording& r, const Model& model, const Outcome& outcome, u32 rank,
                              u32 node) {
            return in_columns(waited_for(model, outcome, r, rank, node));
        }, "model"_a, "outcome"_a, "rank"_a, "node"_a, unlocked)
        .def("messages", [](const Recording& r, const Model& model) { return messages(model, r); },
             "model"_a, unlocked)
        .def("slack", [](const Recording& r, const Outcome& outcome) {
            return Slack{slack(outcome, r)};
        }, "outcome"_a, unlocked)
        .def("collective_parts", [](const Recording& r, const Model& model, const Outcome& outcome) {
            return collective_parts(model, outcome, r);
        }, "model"_a, "outcome"_a, unlocked)
        .def("dimension_utilisation", [](const Recording& r, const Model& model, const Outcome& outcome,
                                         u32 bins) {
            return dimension_utilisation(model, outcome, r, bins);
        }, "model"_a, "outcome"_a, "bins"_a, unlocked)
        .def("link_utilisation", [](const Recording& r, const Model& model, const Outcome& outcome,
                                    u32 bins) {
            return link_utilisation(model, outcome, r, bins);
        }, "model"_a, "outcome"_a, "bins"_a, unlocked)
        .def("link_rates", [](const Recording& r, const Model& model, const Outcome& outcome) {
            return link_rates(model, outcome, r);
        }, "model"_a, "outcome"_a, unlocked)
        .def("link_crossings", [](const Recording& r, const Model& model, const Outcome& outcome,
                                  const std::vector<u32>& rows) {
            return link_crossings(model, outcome, r, rows);
        }, "model"_a, "outcome"_a, "rows"_a, unlocked);
    nb::class_<HeldRecordedRun, HeldRun>(module, "RecordedSimulation")
        .def("__init__", [](HeldRecordedRun* self, const Model& model, bool match_by_tag,
                            const Folding* folding, bool) {
            const nb::gil_scoped_release released;
            new (self) HeldRecordedRun{{model, recorded::make_run(model, match_by_tag, copy_of(folding))}};
        }, "model"_a, "match_by_tag"_a = false, "folding"_a = nb::none(), "shortcuts"_a = true,
           nb::keep_alive<1, 2>())
        .def("limit", [](HeldRecordedRun& held, u64 bytes) { held.recorded().limit(bytes); }, "bytes"_a)
        .def("recording", [](HeldRecordedRun& held) {
            return std::make_shared<Recording>(held.recorded().take_recording());
        });
}

}  // namespace yantra
