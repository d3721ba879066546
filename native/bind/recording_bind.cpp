// Python's view of recorded runs and of what follows from their recordings.
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/vector.h>

#include <utility>

#include "accounting/collectives.hpp"
#include "accounting/link_load.hpp"
#include "accounting/messages.hpp"
#include "accounting/slack.hpp"
#include "accounting/steps.hpp"
#include "accounting/utilisation.hpp"
#include "bind/choices.hpp"
#include "bind/columns.hpp"
#include "bind/parts.hpp"
#include "bind/simulation_class.hpp"
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
        .value("OTHER", StepKind::other);
    nb::class_<StepColumns> steps(module, "Steps");
    column(steps, "kind", &StepColumns::kind);
    column(steps, "rank", &StepColumns::rank);
    column(steps, "node", &StepColumns::node);
    column(steps, "peer", &StepColumns::peer);
    column(steps, "dimension", &StepColumns::dimension);
    column(steps, "start", &StepColumns::start);
    column(steps, "end", &StepColumns::end);
    nb::class_<Messages> messages(module, "Messages");
    column(messages, "source", &Messages::source);
    column(messages, "destination", &Messages::destination);
    column(messages, "tag", &Messages::tag);
    column(messages, "bytes", &Messages::bytes);
    column(messages, "dimension", &Messages::dimension);
    column(messages, "sent", &Messages::sent);
    column(messages, "arrived", &Messages::arrived);
    column(messages, "queued", &Messages::queued);
    column(messages, "node", &Messages::node);
    column(messages, "peer_node", &Messages::peer_node);
    column(messages, "alike", &Messages::alike);
    nb::class_<CollectiveParts> parts(module, "CollectiveParts");
    column(parts, "place", &CollectiveParts::place);
    column(parts, "waiting_peers", &CollectiveParts::waiting_peers);
    column(parts, "queued", &CollectiveParts::queued);
    column(parts, "latency", &CollectiveParts::latency);
    column(parts, "wire", &CollectiveParts::wire);
    column(parts, "hand_over", &CollectiveParts::hand_over);
    column(parts, "reducing", &CollectiveParts::reducing);
    nb::class_<Utilisation> utilisation(module, "Utilisation");
    column(utilisation, "edges", &Utilisation::edges);
    column(utilisation, "bytes", &Utilisation::bytes);
    nb::class_<LinkRates> rates(module, "LinkRates");
    column(rates, "row", &LinkRates::row);
    column(rates, "from_ns", &LinkRates::from_ns);
    column(rates, "to_ns", &LinkRates::to_ns);
    column(rates, "bytes_per_ns", &LinkRates::bytes_per_ns);
    nb::class_<LinkCrossings> crossings(module, "LinkCrossings");
    column(crossings, "row", &LinkCrossings::row);
    column(crossings, "message", &LinkCrossings::message);
    column(crossings, "start", &LinkCrossings::start);
    column(crossings, "end", &LinkCrossings::end);
    column(crossings, "bytes", &LinkCrossings::bytes);
    nb::class_<Slack> slacks(module, "Slack");
    column(slacks, "ticks", &Slack::ticks);
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
        .def("link_rates", [](const Recording& r, const Model& model) { return link_rates(model, r); },
             "model"_a, unlocked)
        .def("link_crossings", [](const Recording& r, const Model& model, const std::vector<u32>& rows) {
            return link_crossings(model, r, rows);
        }, "model"_a, "rows"_a, unlocked);
    using Held = HeldRun<AnyRecordedRun>;
    bind_simulation_class<AnyRecordedRun>(module, "RecordedSimulation")
        .def("__init__", [](Held* self, const Model& model, bool match_by_tag, const Folding* folding,
                            bool) {
            const nb::gil_scoped_release released;
            new (self) Held{model, recorded::make_run(model, match_by_tag, copy_of(folding))};
        }, "model"_a, "match_by_tag"_a = false, "folding"_a = nb::none(), "shortcuts"_a = true,
           nb::keep_alive<1, 2>())
        .def("limit", [](Held& held, u64 bytes) { held.run->limit(bytes); }, "bytes"_a)
        .def("recording", [](Held& held) {
            return std::make_shared<Recording>(held.run->take_recording());
        });
}

}  // namespace yantra
