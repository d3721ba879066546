// Fuzz target of the trace reader: any bytes are either refused with a TraceFault or understood.
//
// Understood means: what was read is written and read again unchanged, the graph is consistent, and
// every check of it comes to an end. Memory errors are the sanitizers' to find.
#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <stdexcept>
#include <string>

#include "base/wire.hpp"
#include "base/wire_writer.hpp"
#include "target.hpp"
#include "trace/tools/check.hpp"
#include "trace/decode.hpp"
#include "trace/tools/encode.hpp"
#include "trace/graph.hpp"
#include "trace/roles.hpp"
#include "trace/tools/relative.hpp"
#include "trace/tools/stamp.hpp"
#include "trace/tools/totals.hpp"
#include "trace/usual.hpp"

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
            add_text(trace, "comm_peer", kind, "pp+1");
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

// As generators write them, ids in no order.
std::string usual_seed() {
    Trace trace;
    add(trace, "complete_order", AttributeKind::boolean).value = 1;
    trace.add_metadata();
    for (const std::uint64_t id : {4U, 2U, 3U, 9U}) {
        if (id != 4) {
            trace.data_dep.push_back(4);
            trace.ctrl_dep.push_back(2);
        }
        add(trace, "is_cpu_op", AttributeKind::boolean).value = id % 2;
        add(trace, "comm_size", AttributeKind::int64).value = id << 20U;
        add(trace, "m", AttributeKind::uint64).value = id;
        add_text(trace, "pg_name", AttributeKind::string, id % 2 == 0 ? "tp" : "dp");
        add_text(trace, "dtype", AttributeKind::string, id % 3 == 0 ? "bf16" : "fp8");
        trace.add_node({id, "mb0.attention", static_cast<std::int32_t>(id % 8), 0, id, 0});
    }
    return encode(trace);
}

// Files of the layouts before 0.0.4, every field of which is there once.
std::string old_number(std::uint32_t field, std::uint64_t value) {
    std::string out;
    WireWriter writer(out);
    writer.tag(field, WireType::varint);
    writer.varint(value);
    return out;
}

std::string old_block(std::uint32_t field, std::string_view value) {
    std::string out;
    WireWriter(out).block(field, value);
    return out;
}

std::string framed(const std::string& message) {
    std::string out;
    WireWriter(out).block(message);
    return out;
}

std::string old_properties() {
    std::string node = old_number(1, 7) + old_block(2, "n") + old_number(3, 6) + old_number(4, 7);
    for (std::uint32_t field = 5; field <= 20; ++field) {
        node += old_number(field, field == 13 ? 4 : 1);
    }
    return framed(node) + framed(old_number(1, 8) + old_block(2, ""));
}

std::string old_attribute(std::uint32_t member, WireType wire, const char* name) {
    std::string value;
    WireWriter writer(value);
    writer.tag(member, wire);
    if (wire == WireType::varint) {
        writer.varint(1);
    } else if (wire == WireType::fixed32) {
        writer.fixed32(0x3f800000);
    } else {
        writer.varint(1);
        value += 'x';
    }
    return old_block(11, old_block(1, name) + old_number(2, member - 4) + old_block(3, "d") + value);
}

// One letter per member from field 4 on: b, i as varints; f as a float; s as text.
std::string old_attributes(std::string_view members, bool metadata) {
    std::string node = old_number(1, 7) + old_block(2, "n") + old_number(3, 6) + old_number(4, 7);
    for (std::uint32_t field = 5; field <= 10; ++field) {
        node += old_block(field, "[]");
    }
    for (std::uint32_t i = 0; i < members.size(); ++i) {
        const WireType wire = members[i] == 's'   ? WireType::block
                              : members[i] == 'f' ? WireType::fixed32
                                                  : WireType::varint;
        node += old_attribute(i + 4, wire, i % 2 == 0 ? "runtime" : "comm_type");
    }
    return (metadata ? framed("") : "") + framed(node);
}

}  // namespace

std::vector<std::string> seeds() {
    return {seed(false, 1),
            seed(true, 2),
            seed(false, 12),
            usual_seed(),
            old_properties(),
            old_attributes("fisfis", false),
            old_attributes("bfisbfis", false),
            old_attributes("bfiisbfiis", true)};
}

// Reading only what a run needs gives the graph that reading everything gives. Only damage in the values
// that a run passes over can make it see another layout.
void check_reading_for_a_run(std::string_view bytes, Layout layout, const Graph& whole) {
    const Trace trace = decode(bytes, Reading::execution_and_tensors);
    if (trace.layout != layout) {
        return;
    }
    const Graph run = build_graph(trace, true);
    require(run.id == whole.id && run.type == whole.type && run.parent == whole.parent,
            "nodes and dependencies");
    require(run.comm_size.value == whole.comm_size.value && run.comm_size.kind == whole.comm_size.kind,
            "integer attributes");
    require(run.involved_mask == whole.involved_mask && run.pg_name.size() == whole.pg_name.size(),
            "other attributes");
    require(run.inputs.size_bytes == whole.inputs.size_bytes, "tensors");
    decode(bytes, Reading::execution);
}

bool is_same(const IntColumn& a, const IntColumn& b) { return a.value == b.value && a.kind == b.kind; }

void require_same(const Graph& usual, const Graph& whole) {
    require(usual.id == whole.id && usual.type == whole.type &&
                usual.duration_micros == whole.duration_micros && usual.parent == whole.parent &&
                usual.parent_begin == whole.parent_begin && usual.child == whole.child &&
                usual.file_order == whole.file_order && usual.complete_order == whole.complete_order,
            "usual nodes and dependencies");
    for (const IntegerAttribute& known : integer_attributes) {
        require(is_same(usual.*known.column, whole.*known.column), "usual integers");
    }
    require(std::equal(usual.kernel_size.begin(), usual.kernel_size.end(), whole.kernel_size.begin(),
                       is_same),
            "usual sizes of kernels");
    require(usual.pg_name == whole.pg_name && usual.pg_names == whole.pg_names &&
                usual.comm_peer == whole.comm_peer && usual.peer_names == whole.peer_names &&
                usual.dtype == whole.dtype && usual.dtypes == whole.dtypes &&
                usual.involved_mask == whole.involved_mask && usual.involved_len == whole.involved_len,
            "usual labels");
    for (std::uint32_t node = 0; node < whole.size(); ++node) {
        require(usual.name(node) == whole.name(node), "usual names");
    }
}

// What is read straight from bytes is what the decoder and the builder make of them, and they do not refuse. So
// is what is read of a file that differs from it in a byte.
void check_usual(std::string_view bytes, bool kernels) {
    UsualRoom room;
    const std::shared_ptr<const Graph> usual = usual_graph(bytes, kernels, room);
    if (usual == nullptr) {
        return;
    }
    const Reading reading = kernels ? Reading::execution_and_kernels : Reading::execution;
    const Graph whole = build_graph(decode(bytes, reading), false, kernels);
    require(whole.diagnostics.empty(), "a usual file has nothing to report");
    require_same(*usual, whole);
    std::string other(bytes);
    for (std::size_t at = bytes.size() % 7; at < bytes.size(); at += 1 + bytes.size() / 16) {
        other[at] = static_cast<char>(other[at] ^ (1 << at % 7));
        const auto like = usual_graph_like(other, {bytes, *usual}, kernels, room);
        if (like != nullptr) {
            const auto read_whole = usual_graph(other, kernels, room);
            require(read_whole != nullptr, "a file like a usual one is usual");
            require_same(*like, *read_whole);
        }
        other[at] = bytes[at];
    }
}

// What is told to be of a layout is refused or read as that one.
void check_layouts(std::string_view bytes) {
    for (int number = 0; number <= static_cast<int>(Layout::today); ++number) {
        const auto layout = static_cast<Layout>(number);
        try {
            const Trace trace = decode(bytes, Reading::everything, layout);
            require(trace.layout == layout, "the layout that was told");
            require(decode(encode(trace)).layout == Layout::today, "today's layout is written");
        } catch (const TraceFault& fault) {
            require(fault.byte_offset() <= bytes.size(), "a fault lies inside the file");
        }
    }
}

// A template is resolved, stamped and added up, or refused; the order of collectives adds few edges.
void check_template(const Trace& trace) {
    const Trace in_order = with_collectives_in_order(trace);
    require(in_order.ctrl_dep.size() <= trace.ctrl_dep.size() + trace.size(), "an edge per node");
    require(total(trace, 8).activations.size() <= 8, "as many parts as asked for");
    Meaning meaning{7, {}, {}};
    const RelativeNames names = relative_names(trace);
    for (const std::string& name : names.groups) {
        meaning.groups[name] = "17";
    }
    for (const std::string& name : names.peers) {
        meaning.peers[name] = 9;
    }
    try {
        const Trace resolved = resolve(trace, meaning);
        require(resolved.size() == trace.size(), "as many nodes as the template");
        require(relative_names(resolved).peers.empty(), "no peer is left relative");
        require(decode(encode(resolved)).size() == trace.size(), "what was resolved can be written");
    } catch (const std::invalid_argument&) {
    }
    try {
        Stamper stamper(trace);
        const auto block = std::make_shared<const Trace>(trace);
        stamper.stamp(block, {}, 3, 5);
        stamper.stamp(block, {}, std::nullopt, -1);
        require(decode(stamper.bytes()).size() == 2 * trace.size(), "two copies");
    } catch (const std::invalid_argument&) {
    }
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view bytes(reinterpret_cast<const char*>(data), size);
    check_layouts(bytes);
    try {
        check_usual(bytes, false);
        check_usual(bytes, true);
    } catch (const TraceFault&) {
        require(false, "a usual file is not refused");
    }
    try {
        const Trace trace = decode(bytes);
        const std::string written = encode(trace);
        const Trace again = decode(written);
        require(encode(again) == written, "what was read is written and read unchanged");
        check_template(trace);
        for (const bool merge : {false, true}) {
            const Graph graph = build_graph(trace, merge);
            check_graph(trace, graph);
            check(trace, graph);
            if (merge) {
                check_reading_for_a_run(bytes, trace.layout, graph);
            }
        }
    } catch (const TraceFault& fault) {
        require(fault.byte_offset() <= size, "a fault lies inside the file");
    }
    return 0;
}
