// Python tables as a stream of the Arrow C data interface
// (https://arrow.apache.org/docs/format/CDataInterface.html and CStreamInterface.html). A batch
// owns its memory. Trade-off: one copy.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <cerrno>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/types.hpp"
#include "bind/choices.hpp"
#include "bind/parts.hpp"

namespace nb = nanobind;
using namespace nb::literals;

// Named as in the specification.
struct ArrowSchema {
    const char* format;
    const char* name;
    const char* metadata;
    int64_t flags;
    int64_t n_children;
    ArrowSchema** children;
    ArrowSchema* dictionary;
    void (*release)(ArrowSchema*);
    void* private_data;
};

struct ArrowArray {
    int64_t length;
    int64_t null_count;
    int64_t offset;
    int64_t n_buffers;
    int64_t n_children;
    const void** buffers;
    ArrowArray** children;
    ArrowArray* dictionary;
    void (*release)(ArrowArray*);
    void* private_data;
};

struct ArrowArrayStream {
    int (*get_schema)(ArrowArrayStream*, ArrowSchema*);
    int (*get_next)(ArrowArrayStream*, ArrowArray*);
    const char* (*get_last_error)(ArrowArrayStream*);
    void (*release)(ArrowArrayStream*);
    void* private_data;
};

namespace yantra {

namespace {

constexpr const char* stream_name = "arrow_array_stream";
constexpr int64_t nullable = 2;   // ARROW_FLAG_NULLABLE

using ArrowColumn = std::tuple<int64_t, int64_t, std::vector<std::optional<nb::bytes>>>;

// Children are released with it, unless the reader took them.
template <class Struct>
struct Owned {
    std::vector<std::string> texts;     // format and name, or buffers
    std::vector<const void*> buffers;
    std::vector<Struct> children;
    std::vector<Struct*> pointers;

    void point_to_children() {
        for (Struct& child : children) {
            pointers.push_back(&child);
        }
    }
};

template <class Struct>
void release_owned(Struct* released) {
    const std::unique_ptr<Owned<Struct>> owned(static_cast<Owned<Struct>*>(released->private_data));
    for (Struct& child : owned->children) {
        if (child.release != nullptr) {
            child.release(&child);
        }
    }
    released->release = nullptr;
}

// The schema owns the children.
ArrowSchema schema_of(std::string format, std::string name, int64_t flags, std::vector<ArrowSchema> children) {
    auto owned = std::make_unique<Owned<ArrowSchema>>();
    owned->texts = {std::move(format), std::move(name)};
    owned->children = std::move(children);
    owned->point_to_children();
    ArrowSchema made{owned->texts[0].c_str(), owned->texts[1].c_str(), nullptr, flags,
                     static_cast<int64_t>(owned->children.size()), owned->pointers.data(), nullptr,
                     &release_owned<ArrowSchema>, nullptr};
    made.private_data = owned.release();
    return made;
}

ArrowArray array_of(int64_t length, int64_t nulls, std::unique_ptr<Owned<ArrowArray>> owned) {
    owned->point_to_children();
    ArrowArray made{length, nulls, 0, static_cast<int64_t>(owned->buffers.size()),
                    static_cast<int64_t>(owned->children.size()), owned->buffers.data(),
                    owned->pointers.data(), nullptr, &release_owned<ArrowArray>, nullptr};
    made.private_data = owned.release();
    return made;
}

ArrowArray column_array(const ArrowColumn& column) {
    const auto& [length, nulls, buffers] = column;
    auto owned = std::make_unique<Owned<ArrowArray>>();
    owned->texts.reserve(buffers.size());   // a text that moves would invalidate its pointer
    for (const std::optional<nb::bytes>& buffer : buffers) {
        if (buffer) {
            // Never empty: no short string is inside the object.
            owned->texts.emplace_back().reserve(buffer->size() + 64);
            owned->texts.back().assign(buffer->c_str(), buffer->size());
        }
        owned->buffers.push_back(buffer ? owned->texts.back().data() : nullptr);
    }
    return array_of(length, nulls, std::move(owned));
}

struct TableSource {
    std::vector<std::string> names;
    std::vector<std::string> formats;
    nb::callable next;
    std::string error;
};

TableSource& source_of(ArrowArrayStream* stream) { return *static_cast<TableSource*>(stream->private_data); }

template <class Act>
int told(ArrowArrayStream* stream, Act act) {
    try {
        act(source_of(stream));
        return 0;
    } catch (const std::exception& error) {
        source_of(stream).error = error.what();
        return EIO;
    }
}

int get_schema(ArrowArrayStream* stream, ArrowSchema* into) {
    return told(stream, [into](const TableSource& source) {
        std::vector<ArrowSchema> columns;
        for (std::size_t at = 0; at < source.names.size(); ++at) {
            columns.push_back(schema_of(source.formats[at], source.names[at], nullable, {}));
        }
        *into = schema_of("+s", "", 0, std::move(columns));
    });
}

int get_next(ArrowArrayStream* stream, ArrowArray* into) {
    const nb::gil_scoped_acquire held;
    return told(stream, [into](const TableSource& source) {
        *into = ArrowArray{};   // without `release`: the end
        const nb::object given = source.next();
        if (given.is_none()) {
            return;
        }
        const auto columns = nb::cast<std::vector<ArrowColumn>>(given);
        auto owned = std::make_unique<Owned<ArrowArray>>();
        owned->buffers.push_back(nullptr);   // no row is missing as a whole
        for (const ArrowColumn& column : columns) {
            owned->children.push_back(column_array(column));
        }
        *into = array_of(columns.empty() ? 0 : std::get<0>(columns[0]), 0, std::move(owned));
    });
}

const char* last_error(ArrowArrayStream* stream) { return source_of(stream).error.c_str(); }

void release_stream(ArrowArrayStream* stream) {
    if (Py_IsInitialized() != 0) {   // else its objects are gone already
        const nb::gil_scoped_acquire held;
        const std::unique_ptr<TableSource> ended(&source_of(stream));
    }
    stream->release = nullptr;
}

void end_of_capsule(PyObject* capsule) {
    const std::unique_ptr<ArrowArrayStream> stream(
        static_cast<ArrowArrayStream*>(PyCapsule_GetPointer(capsule, stream_name)));
    if (stream->release != nullptr) {   // nobody took it
        stream->release(stream.get());
    }
}

using NextColumns = nb::typed<nb::callable, nb::object()>;

nb::object arrow_stream(std::vector<std::string> names, std::vector<std::string> formats,
                        NextColumns next) {
    auto source = std::make_unique<TableSource>();
    *source = {std::move(names), std::move(formats), std::move(next), ""};
    auto stream = std::make_unique<ArrowArrayStream>();
    *stream = {&get_schema, &get_next, &last_error, &release_stream, source.release()};
    return nb::steal(PyCapsule_New(stream.release(), stream_name, &end_of_capsule));
}

}  // namespace

void register_arrow(nb::module_& module) {
    module.def("arrow_stream", &arrow_stream, "names"_a, "formats"_a, "next"_a);
}

}  // namespace yantra
