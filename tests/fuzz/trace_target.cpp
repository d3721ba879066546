// Fuzz target of the trace reader: any bytes are either refused with a TraceFault or understood.
//
// Understood means: what was read is written and read again unchanged, the graph is consistent, and
// every check of it comes to an end. Memory errors are the sanitizers' to find.
#include <algorithm>
#include <cstdlib>
#include <iostream>

#include "base/wire.hpp"
#include "target.hpp"
#include "trace/check.hpp"
#include "trace/decode.hpp"
#include "trace/encode.hpp"
#include "trace/graph.hpp"

namespace {

using namespace yantra;

void require(bool condition, const char* law) {
    if (!condition) {
        std::cerr << "violated: " << law << '\n';
        std::abort();
    }
}

void check_graph(const Trace& trace, const Graph& graph) {
    require(graph.size() <= trace.size(), "a graph has no more nodes than its trace has records");
    require(std::is_sorted(graph.id.begin(), graph.id.end()), "ids ascend");
    require(graph.parent.size() == graph.child.size(), "each edge is seen from both its ends");
    for (std::uint32_t node = 0; node < graph.size(); ++node) {
        require(graph.parent_begin[node + 1] - graph.parent_begin[node] == graph.parent_count[node],
                "parent_count counts the parents");
        for (std::uint32_t i = graph.child_begin[node]; i < graph.child_begin[node + 1]; ++i) {
            const std::uint32_t child = graph.child[i];
            const auto begin = graph.parent.begin();
            require(std::count(begin + graph.parent_begin[child],
                               begin + graph.parent_begin[child + 1], node) == 1,
                    "a child names its parent once");
        }
    }
}

Attribute& add(Trace& trace, const char* name, AttributeKind kind) {
    Attribute& attribute = trace.add_attribute();
    attribute.name = trace.attribute_names.intern(name);
    attribute.kind = kind;
    return attribute;
}

void add_text(Trace& trace, const char* name, AttributeKind kind, std::string_view value) {
    const Text text = trace.add_text(value);
    Attribute& attribute = add(trace, name, kind);
    attribute.value = text.begin;
    attribute.count = static_cast<std::uint32_t>(text.size);
}

// One attribute of every kind: scalars, then lists of two.
void add_every_kind(Trace& trace) {
    for (std::uint8_t number = 3; number <= 32; ++number) {
        const auto kind = static_cast<AttributeKind>(number);
        if (is_list(kind) && is_text(kind)) {
            const std::uint64_t begin = trace.texts.size();
            trace.texts.push_back(trace.add_text("x"));
            trace.texts.push_back(trace.add_text("64"));
            Attribute& attribute = add(trace, "inputs", kind);
            attribute.value = begin;
            attribute.count = 2;
        } else if (is_list(kind)) {
            Attribute& attribute = add(trace, "involved_dim", kind);
            attribute.value = trace.numbers.size();
            attribute.count = 2;
            trace.numbers.insert(trace.numbers.end(), {1, 0});
        } else if (is_text(kind)) {
            add_text(trace, "pg_name", kind, "tp");
        } else {
            add(trace, "comm_size", kind).value = 1;
        }
    }
}

std::string seed(bool every_kind, std::uint64_t nodes) {
    Trace trace;
    trace.version = "1.0.0";
    add(trace, "pid", AttributeKind::uint64).value = 300;
    trace.set_doc("process");
    trace.add_metadata();
    for (std::uint64_t id = 0; id < nodes; ++id) {
        if (id > 0) {
            trace.data_dep.push_back(id - 1);
            trace.ctrl_dep.insert(trace.ctrl_dep.end(), {0, id / 2});
        }
        if (every_kind) {
            add_every_kind(trace);
        }
        add(trace, "comm_type", AttributeKind::int64).value = id % 10;
        trace.io.push_back({id, IoSide::outputs, trace.add_text("[[1, 2]]"), trace.add_text("[[4]]"),
                            trace.add_text("['Tensor(float)']")});
        trace.add_node({id, "näme", static_cast<std::int32_t>(id % 8), id * 1000, id, 0});
    }
    return encode(trace);
}

}  // namespace

std::vector<std::string> seeds() { return {seed(false, 1), seed(true, 2), seed(false, 12)}; }

// Reading only what a run needs gives the graph that reading everything gives.
void check_reading_for_a_run(std::string_view bytes, const Graph& whole) {
    const Graph run = build_graph(decode(bytes, Reading::execution_and_tensors), true);
    require(run.id == whole.id && run.type == whole.type && run.parent == whole.parent,
            "nodes and dependencies");
    require(run.comm_size.value == whole.comm_size.value && run.comm_size.kind == whole.comm_size.kind,
            "integer attributes");
    require(run.involved_mask == whole.involved_mask && run.pg_name.size() == whole.pg_name.size(),
            "other attributes");
    require(run.inputs.size_bytes == whole.inputs.size_bytes, "tensors");
    decode(bytes, Reading::execution);
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view bytes(reinterpret_cast<const char*>(data), size);
    try {
        const Trace trace = decode(bytes);
        const std::string written = encode(trace);
        const Trace again = decode(written);
        require(encode(again) == written, "what was read is written and read unchanged");
        for (const bool merge : {false, true}) {
            const Graph graph = build_graph(trace, merge);
            check_graph(trace, graph);
            check(trace, graph);
            if (merge) {
                check_reading_for_a_run(bytes, graph);
            }
        }
    } catch (const TraceFault& fault) {
        require(fault.byte_offset() <= size, "a fault lies inside the file");
    }
    return 0;
}
