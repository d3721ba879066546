// Python's view of Survey: the columns and calls of Trace that inspecting tools use.
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string_view.h>

#include <algorithm>
#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "base/python_text.hpp"
#include "bind/fields.hpp"
#include "bind/interruptible.hpp"
#include "bind/parts.hpp"
#include "trace/survey.hpp"
#include "trace/tools/check.hpp"

namespace nb = nanobind;

namespace yantra {

namespace surveys {

namespace {

using SurveyIs = const std::shared_ptr<Survey>&;

template <typename Values>
auto column(const Values& values, nb::handle owner) {
    return Column<typename Values::value_type>(values.data(), {values.size()}, owner);
}

const IntColumn& recorded(const Survey& survey, std::string_view name) {
    const std::pair<std::string_view, const IntColumn*> known[] = {
        {"stream", &survey.stream}, {"thread", &survey.thread}, {"tid", &survey.tid},
        {"start_time_ns", &survey.start_time_ns}, {"duration_ns", &survey.graph.duration_ns}};
    for (const auto& [called, column] : known) {
        if (name == called) {
            return *column;
        }
    }
    throw nb::key_error("a survey has no such integers");
}

nb::object integers(nb::handle self, std::string_view name) {
    const IntColumn& found = recorded(nb::cast<const Survey&>(self), name);
    return nb::make_tuple(column(found.value, self), column(found.kind, self));
}

nb::object texts(nb::handle self, std::string_view name) {
    const auto& survey = nb::cast<const Survey&>(self);
    if (name != "part" && name != "communication") {
        throw nb::key_error("a survey has no such texts");
    }
    const bool is_part = name == "part";
    nb::list names;
    for (const std::string& one : (is_part ? survey.parts : survey.communications).names()) {
        names.append(nb::str(one.data(), one.size()));
    }
    return nb::make_tuple(names, column(is_part ? survey.part : survey.communication, self));
}

nb::list ids(const Survey& survey, std::size_t begin, std::size_t end) {
    nb::list out;
    for (std::size_t at = begin; at < end; ++at) {
        out.append(survey.graph.id[survey.dep[at]]);
    }
    return out;
}

std::uint32_t checked(const Survey& survey, std::size_t node) {
    if (node >= survey.graph.size()) {
        throw nb::index_error("the trace has no such record");
    }
    return static_cast<std::uint32_t>(node);
}

std::uint32_t begin_of(const Survey& survey, std::uint32_t node) {
    return node == 0 ? 0 : survey.dep_end[node - 1];
}

nb::object inputs(const Survey& survey, std::size_t node) {
    const std::uint32_t wanted = checked(survey, node);
    const auto found = std::ranges::lower_bound(survey.inputs, wanted, {}, [](const auto& one) { return one.first; });
    if (found == survey.inputs.end() || found->first != wanted) {
        return nb::none();
    }
    const auto& [values, shapes, types] = found->second;
    const auto text = [](const std::string& one) { return nb::str(one.data(), one.size()); };
    return nb::make_tuple(text(values), text(shapes), text(types));
}

std::size_t data_edges(const Survey& survey) {
    std::size_t edges = 0;
    for (std::uint32_t node = 0; node < survey.graph.size(); ++node) {
        edges += survey.data_end[node] - begin_of(survey, node);
    }
    return edges;
}

}  // namespace

}  // namespace surveys

void register_surveys(nb::module_& module) {
    Class<Survey> survey(module, "Survey", "What inspecting tools ask of a trace, by node.");
    survey.def("__len__", [](const Survey& self) { return self.graph.size(); });
    survey.def_prop_ro("graph", [](surveys::SurveyIs self) { return std::shared_ptr<Graph>(self, &self->graph); });
    survey.def_prop_ro("head", [](surveys::SurveyIs self) { return std::shared_ptr<Trace>(self, &self->head); });
    survey.column("start_micros", &Survey::start_micros);
    survey.def("integers", &surveys::integers, nb::arg("name"),
               nb::sig("def integers(self, name: str) -> tuple[memoryview, memoryview]"));
    survey.def("texts", &surveys::texts, nb::arg("name"),
               nb::sig("def texts(self, name: str) -> tuple[list[str], memoryview]"));
    survey.def("data_deps", [](const Survey& self, std::size_t node) {
        const std::uint32_t at = surveys::checked(self, node);
        return surveys::ids(self, surveys::begin_of(self, at), self.data_end[at]);
    }, nb::arg("record"), nb::sig("def data_deps(self, record: int) -> list[int]"));
    survey.def("ctrl_deps", [](const Survey& self, std::size_t node) {
        const std::uint32_t at = surveys::checked(self, node);
        return surveys::ids(self, self.data_end[at], self.dep_end[at]);
    }, nb::arg("record"), nb::sig("def ctrl_deps(self, record: int) -> list[int]"));
    survey.def("inputs", &surveys::inputs, nb::arg("record"), nb::sig("def inputs(self, record: int) -> IoTexts | None"));
    survey.column("dep", &Survey::dep);
    survey.column("data_end", &Survey::data_end);
    survey.column("dep_end", &Survey::dep_end);
    survey.def_prop_ro("data_edges", &surveys::data_edges);
    survey.def_prop_ro("control_edges", [](const Survey& self) { return self.dep.size() - surveys::data_edges(self); });
    survey.def_prop_ro("is_sound", [](const Survey& self) {
        return check(self.head, self.graph).size() == 1;   // that the head alone has no nodes
    });

    nb::class_<Surveyor>(module, "Surveyor", "Reads a survey in pieces.")
        .def(nb::init<std::uint64_t>(), nb::arg("bytes"))
        .def("feed", [](Surveyor& self, const nb::bytes& piece) {
            const std::string_view bytes(piece.c_str(), piece.size());
            const InterruptibleWork work(bytes.size());
            return self.feed(bytes);
        }, nb::arg("piece"))
        .def("finish", [](Surveyor& self) {
            const InterruptibleCall call;
            return self.finish();
        }, nb::sig("def finish(self) -> Survey | None"));
}

}  // namespace yantra
