// Python's view of copies of blocks: the stamper of a trace, and the player of a device's passes.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "bind/choices.hpp"
#include "bind/parts.hpp"
#include "trace/tools/encode_pass.hpp"
#include "trace/tools/player.hpp"
#include "trace/tools/relabel.hpp"

namespace nb = nanobind;
using namespace nanobind::literals;

namespace yantra {

namespace {

std::uint64_t stamp(Stamper& self, const std::shared_ptr<Trace>& block,
                    std::vector<StampEdge> edges, std::optional<std::int64_t> microbatch,
                    std::int64_t tag_base) {
    const nb::gil_scoped_release unlocked;
    return self.stamp(block, std::move(edges), microbatch, tag_base);
}

nb::bytes bytes_of(Stamper& self) {
    std::string made;
    {
        const nb::gil_scoped_release unlocked;
        made = self.bytes();
    }
    return nb::bytes(made.data(), made.size());
}

std::shared_ptr<Graph> graph_of_copies(const Stamper& self, bool kernels) {
    const nb::gil_scoped_release unlocked;
    std::optional<Graph> made = stamped_graph(self.stamps(), kernels);
    if (!made) {
        return nullptr;
    }
    made->complete_order = self.has_complete_order();
    return std::make_shared<Graph>(*std::move(made));
}

std::uint32_t add_pass(Player& self, const EncodedPass& encoded,
                       std::vector<std::uint32_t> blocking, std::optional<PassSource> direction,
                       std::optional<PassSource> neighbour, std::optional<std::uint32_t> beside,
                       std::uint32_t chunk, const std::optional<Relabel>& relabel) {
    PassCopy pass{encoded.segments, encoded.places, std::move(blocking), direction, neighbour, beside, chunk};
    if (relabel) {
        for (Segment& segment : pass.segments) {
            segment.block = std::make_shared<Trace>(relabelled(*segment.block, *relabel));
        }
    }
    return self.add(std::move(pass));
}

void play_each(Player& self, const std::vector<std::uint32_t>& passes,
               const std::vector<std::int64_t>& microbatches, std::int64_t tags_each) {
    const std::pair<std::uint32_t, std::uint32_t> whole{0, 0};
    for (std::size_t at = 0; at < passes.size(); ++at) {
        self.play({&passes[at], 1}, {&microbatches.at(at), 1}, {&whole, 1}, tags_each);
    }
}

void bind_player(nb::module_& module) {
    Choices<PassSource>(module, "PassSource")
        .value("FORWARD", PassSource::forward)
        .value("BACKWARD", PassSource::backward)
        .value("NEIGHBOUR", PassSource::neighbour)
        .value("REDUCTIONS", PassSource::reductions);
    register_encoder(module);
    nb::class_<Relabel>(module, "Relabel", "What a pass of other layers has other than the one it is like.")
        .def("__init__", [](Relabel* self, std::int64_t layers, std::int64_t chunk, std::int64_t tags,
                            std::int64_t inner_tags, std::int64_t first_inner) {
            new (self) Relabel{layers, chunk, tags, inner_tags, first_inner};
        }, "layers"_a, "chunk"_a, "tags"_a, "inner_tags"_a, "first_inner"_a);
    nb::class_<Player>(module, "Player", "The template of a device, as copies of the passes that it plays.")
        .def(nb::init<const Trace&, std::vector<std::string>>(), "head"_a, "gradient_groups"_a)
        .def("add", &add_pass, "encoded"_a, "blocking"_a, "direction"_a.none(), "neighbour"_a.none(),
             "beside"_a.none(), "chunk"_a, "relabel"_a.none())
        .def("play_each", &play_each, "passes"_a, "microbatches"_a, "tags_each"_a)
        .def("play_in_turns", [](Player& self, const std::vector<std::uint32_t>& passes,
                                 const std::vector<std::int64_t>& microbatches,
                                 const std::vector<std::pair<std::uint32_t, std::uint32_t>>& turns,
                                 std::int64_t tags_each) {
            self.play(passes, microbatches, turns, tags_each);
        }, "passes"_a, "microbatches"_a, "turns"_a, "tags_each"_a)
        .def("finish", &Player::finish, "number"_a)
        .def_prop_ro("stamper", [](Player& self) -> Stamper& { return self.stamper(); },
                     nb::rv_policy::reference_internal);
    module.def("with_layers", [](const std::string& text, std::int64_t layers) { return with_layers(text, layers); },
               "text"_a, "layers"_a);
}

}  // namespace

void register_player(nb::module_& module) {
    nb::class_<StampEdge>(module, "StampEdge")
        .def(nb::init<std::uint64_t, std::uint64_t, bool>(), "place"_a, "earlier"_a, "is_ctrl"_a);
    nb::class_<Stamper>(module, "Stamper")
        .def(nb::init<const Trace&>(), "head"_a)
        .def("stamp", &stamp, "block"_a, "edges"_a, "microbatch"_a.none(), "tag_base"_a)
        .def("__len__", &Stamper::size)
        .def("bytes", &bytes_of)
        .def("graph", &graph_of_copies, "kernels"_a = false,
             "What decoding the bytes would give, or None where they must be decoded.");
    bind_player(module);
}

}  // namespace yantra
