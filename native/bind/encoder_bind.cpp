// Python's view of encode_pass, from tuples: one call a pass.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/ensure.hpp"
#include "bind/choices.hpp"
#include "bind/fields.hpp"
#include "bind/parts.hpp"
#include "trace/tools/encode_pass.hpp"

namespace nb = nanobind;
using namespace nanobind::literals;

namespace yantra {

namespace {

// In the order of `Operation`, `Item`, `Wait` and `Stretch` (src/yantra/workloads).
namespace operation_fields {
enum : int {
    name, kind, phase, unit, after, tensor_flops, vector_flops, repeated_flops, bytes_read, bytes_written, shape,
    sizes, dtype, collective, group, size_bytes, peer, tag, saves, frees, end
};
constexpr std::string_view names =
    "name kind phase unit after tensor_flops vector_flops repeated_flops bytes_read bytes_written shape sizes dtype "
    "collective group size_bytes peer tag saves frees";
}  // namespace operation_fields

namespace item_fields {
enum : int { key, operation, waits, starts, at_end, holds, releases, end };
constexpr std::string_view names = "key operation waits starts at_end holds releases";
}  // namespace item_fields

namespace wait_fields {
enum : int { key, is_control, source, end };
constexpr std::string_view names = "key is_control source";
}  // namespace wait_fields

namespace stretch_fields {
enum : int { operations, first, end_place, end };
constexpr std::string_view names = "operations first end";
}  // namespace stretch_fields

nb::tuple tuple_of(nb::handle value, std::size_t size) {
    if (!PyTuple_Check(value.ptr()) || static_cast<std::size_t>(PyTuple_Size(value.ptr())) != size) {
        throw nb::type_error("a tuple of an operation, an item or a wait has other fields");
    }
    return nb::borrow<nb::tuple>(value);
}

nb::handle field(const nb::tuple& of, int place) { return of[static_cast<std::size_t>(place)]; }

std::string text_of(nb::handle value) {
    Py_ssize_t size = 0;
    const char* const bytes = PyUnicode_AsUTF8AndSize(value.ptr(), &size);
    if (bytes == nullptr) {
        throw nb::python_error();
    }
    return {bytes, static_cast<std::size_t>(size)};
}

// Raises Python's OverflowError beyond 63 bits.
std::int64_t number_of(nb::handle value) {
    const long long number = PyLong_AsLongLong(value.ptr());
    if (number == -1 && PyErr_Occurred() != nullptr) {
        throw nb::python_error();
    }
    return number;
}

bool is_true(nb::handle value) { return value.ptr() == Py_True; }

PassOperation operation_of(nb::handle value) {
    namespace at = operation_fields;
    const nb::tuple of = tuple_of(value, at::end);
    PassOperation made;
    made.name = text_of(field(of, at::name));
    made.kind = text_of(field(of, at::kind));
    made.phase = text_of(field(of, at::phase));
    made.unit = text_of(field(of, at::unit));
    made.dtype = text_of(field(of, at::dtype));
    made.group = text_of(field(of, at::group));
    made.peer = text_of(field(of, at::peer));
    made.tensor_flops = number_of(field(of, at::tensor_flops));
    made.vector_flops = number_of(field(of, at::vector_flops));
    made.repeated_flops = number_of(field(of, at::repeated_flops));
    made.bytes_read = number_of(field(of, at::bytes_read));
    made.bytes_written = number_of(field(of, at::bytes_written));
    for (const nb::handle size : nb::borrow<nb::tuple>(field(of, at::shape))) {
        made.shape.push_back(number_of(size));
    }
    for (const nb::handle pair : nb::borrow<nb::tuple>(field(of, at::sizes))) {
        const nb::tuple named = tuple_of(pair, 2);
        made.sizes.emplace_back(text_of(named[0]), number_of(named[1]));
    }
    if (!field(of, at::collective).is_none()) {
        made.comm_type = number_of(field(of, at::collective));
    }
    made.size_bytes = number_of(field(of, at::size_bytes));
    made.tag = number_of(field(of, at::tag));
    made.saves = number_of(field(of, at::saves));
    made.frees = number_of(field(of, at::frees));
    return made;
}

std::optional<PassSource> source_of(nb::handle value) {
    const std::string text = text_of(value);
    if (text.empty()) {
        return std::nullopt;
    }
    if (text == "forward") {
        return PassSource::forward;
    }
    if (text == "backward") {
        return PassSource::backward;
    }
    if (text == "neighbour") {
        return PassSource::neighbour;
    }
    if (text == "reductions") {
        return PassSource::reductions;
    }
    throw std::invalid_argument("there is no source '" + text + "' of a dependency");
}

std::uint32_t key_of(nb::handle value) {
    const std::int64_t key = number_of(value);
    if (key < 0 || key >= 0x7fffffff) {
        throw std::invalid_argument("the key of an operation is below 0, or too large");
    }
    return static_cast<std::uint32_t>(key);
}

class PassEncoder {
public:
    EncodedPass encode(const std::vector<nb::tuple>& parts, std::optional<std::int64_t> chunk) {
        std::vector<std::vector<PassItem>> read;
        for (const nb::tuple& part : parts) {
            read.push_back(items_of(part));
        }
        return encode_pass(read, chunk);
    }

    PassTotals totals(const nb::tuple& items) { return totals_of(items_of(items)); }

private:
    const std::vector<PassItem>& items_of(const nb::tuple& part) {
        auto entry = items_.find(part.ptr());
        if (entry == items_.end()) {
            std::vector<PassItem> read;
            read.reserve(part.size());
            for (const nb::handle one : part) {
                if (PyTuple_Check(one.ptr()) && PyTuple_Size(one.ptr()) == stretch_fields::end) {
                    add_stretch(tuple_of(one, stretch_fields::end), read);
                } else {
                    read.push_back(item_of(one));
                }
            }
            entry = items_.try_emplace(part.ptr(), part, std::move(read)).first;
        }
        return entry->second.second;
    }

    PassItem item_of(nb::handle value) {
        namespace at = item_fields;
        const nb::tuple of = tuple_of(value, at::end);
        PassItem made{key_of(field(of, at::key)), &known(field(of, at::operation)), {},
                      is_true(field(of, at::starts)) || is_true(field(of, at::at_end)),
                      number_of(field(of, at::holds)), number_of(field(of, at::releases))};
        for (const nb::handle wait : nb::borrow<nb::tuple>(field(of, at::waits))) {
            const nb::tuple fields = tuple_of(wait, wait_fields::end);
            const bool is_control = is_true(field(fields, wait_fields::is_control));
            made.waits.push_back({key_of(field(fields, wait_fields::key)), is_control,
                                  source_of(field(fields, wait_fields::source))});
        }
        return made;
    }

    void add_stretch(const nb::tuple& stretch, std::vector<PassItem>& to) {
        const auto operations = nb::cast<nb::tuple>(field(stretch, stretch_fields::operations));
        const std::uint32_t end = key_of(field(stretch, stretch_fields::end_place));
        if (end > operations.size()) {
            throw std::invalid_argument("a stretch ends behind the operations of its pass");
        }
        for (std::uint32_t key = key_of(field(stretch, stretch_fields::first)); key < end; ++key) {
            const nb::handle operation = operations[key];
            PassItem made{key, &known(operation), {}, false, 0, 0};
            for (const nb::handle after : nb::borrow<nb::tuple>(field(nb::borrow<nb::tuple>(operation),
                                                                      operation_fields::after))) {
                const std::uint32_t needed = key_of(after);
                const bool is_there = std::ranges::any_of(
                    made.waits, [needed](const PassItem::Wait& wait) { return wait.key == needed; });
                if (!is_there) {
                    made.waits.push_back({needed, false, std::nullopt});
                }
            }
            to.push_back(std::move(made));
        }
    }

    const PassOperation& known(nb::handle operation) {
        auto entry = operations_.find(operation.ptr());
        if (entry == operations_.end()) {
            PassOperation read = operation_of(operation);
            entry = operations_.try_emplace(operation.ptr(), nb::borrow(operation), std::move(read)).first;
        }
        return entry->second.second;
    }

    std::unordered_map<PyObject*, std::pair<nb::object, PassOperation>> operations_;
    std::unordered_map<PyObject*, std::pair<nb::object, std::vector<PassItem>>> items_;
};

using Chains = std::vector<std::tuple<std::string, std::uint64_t, std::uint64_t>>;

Chains chains_of(const Segment& segment) {
    Chains made;
    for (const Segment::Chain& chain : segment.chains) {
        made.emplace_back(chain.group, chain.first, chain.last);
    }
    return made;
}

nb::object whole(PassTotals::Sum sum) {
    constexpr int half = 64;
    const nb::object high = nb::int_(static_cast<std::uint64_t>(sum >> half));
    return (high << nb::int_(half)) | nb::int_(static_cast<std::uint64_t>(sum));
}

}  // namespace

void register_encoder(nb::module_& module) {
    Class<Segment>(module, "Segment", "Nodes that stand together, and what ties them to those before.")
        .field("first_compute", &Segment::first_compute)
        .field("last_compute", &Segment::last_compute)
        .field("starts", &Segment::starts)
        .def_prop_ro("block", [](const Segment& self) { return std::const_pointer_cast<Trace>(self.block); })
        .def_prop_ro("chains", &chains_of, "Of each communicator its name, its first and its last collective.");
    Class<EncodedPass>(module, "EncodedPass", "A pass in segments; of each key the segment and the place.")
        .field("segments", &EncodedPass::segments)
        .field("places", &EncodedPass::places);
    Class<PassTotals>(module, "PassTotals", "What the operations of a pass are together; bytes.")
        .field("groups", &PassTotals::groups)
        .field("saved", &PassTotals::saved)
        .field("held", &PassTotals::held)
        .field("most_saved", &PassTotals::most_saved)
        .field("most_held", &PassTotals::most_held)
        .field("stores", &PassTotals::stores)
        .field("messages", &PassTotals::messages)
        .field("too_early", &PassTotals::too_early)
        .def_prop_ro("model_flops", [](const PassTotals& self) { return whole(self.model_flops); },
                     nb::sig("def model_flops(self) -> int"))
        .def_prop_ro("hardware_flops", [](const PassTotals& self) { return whole(self.hardware_flops); },
                     nb::sig("def hardware_flops(self) -> int"))
        .def_prop_ro("all_flops", [](const PassTotals& self) { return whole(self.all_flops); },
                     nb::sig("def all_flops(self) -> int"));
    nb::class_<PassEncoder> encoder(module, "PassEncoder", "Encodes passes, reading what they share once.");
    encoder.def(nb::init<>());
    encoder.def("encode", &PassEncoder::encode, "parts"_a, "chunk"_a.none(),
                nb::sig("def encode(self, parts: Sequence[tuple[typing.Any, ...]], chunk: int | None) -> EncodedPass"));
    encoder.def("totals", &PassEncoder::totals, "items"_a,
                nb::sig("def totals(self, items: tuple[typing.Any, ...]) -> PassTotals"));
    encoder.attr("OPERATION_FIELDS") = nb::str(operation_fields::names.data());
    encoder.attr("ITEM_FIELDS") = nb::str(item_fields::names.data());
    encoder.attr("WAIT_FIELDS") = nb::str(wait_fields::names.data());
    encoder.attr("STRETCH_FIELDS") = nb::str(stretch_fields::names.data());
}

}  // namespace yantra
