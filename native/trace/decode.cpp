// The decoder of today's layout, and the choice of the layout.
#include "trace/decode.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "base/interruption.hpp"
#include "base/wire.hpp"
#include "trace/coding.hpp"
#include "trace/fields.hpp"
#include "trace/kernel_sizes.hpp"
#include "trace/legacy.hpp"
#include "trace/name_order.hpp"

namespace yantra {

namespace {

struct IoText {
    bool present = false;
    std::string_view values, shapes, types;
};

constexpr std::array<std::string_view, 17> execution_attributes{
    "is_cpu_op", "comm_type", "comm_size",    "comm_priority", "comm_src",      "comm_dst",
    "comm_tag",  "num_ops",   "tensor_size",  "pg_name",       "involved_dim",  "duration_ns",
    "msg_chunk_cnt", "total_chunk_cnt", "comm_peer", "communication", complete_order_name};
constexpr std::array<std::string_view, 2> tensor_attributes{"inputs", "outputs"};
constexpr std::array<std::string_view, 3> kernel_labels{"op_class", "dtype", "phase"};
constexpr std::array<std::string_view, 3> pass_attributes{"phase", "microbatch", "chunk"};

template <std::size_t Size>
bool among(const std::array<std::string_view, Size>& names, std::string_view name) {
    return std::find(names.begin(), names.end(), name) != names.end();
}

class Decoder {
public:
    Decoder(Reading reading, Layout layout, bool told) : reading_(reading), told_(told) {
        trace_.layout = layout;
    }

    void run(std::string_view bytes, std::size_t records) {
        reserve(records);
        WireReader in(bytes);
        if (has_metadata()) {
            metadata(in);
        }
        trace_.add_metadata();
        begun_ = true;
        while (!in.at_end()) {
            look_up();
            node(in);
            if (trace_.size() == sample_nodes) {
                const auto all = static_cast<double>(bytes.size());
                reserve_pools(1.1 * all / static_cast<double>(in.offset()));
            }
        }
        trace_.sort_foreign();
    }

    // Records understood so far, metadata included.
    std::size_t records() const {
        return begun_ ? trace_.size() + (has_metadata() ? 1 : 0) : 0;
    }
    Trace take() { return std::move(trace_); }

private:
    static constexpr std::size_t sample_nodes = 4096;

    bool has_metadata() const { return trace_.layout == Layout::today; }

    void reserve(std::size_t nodes) {
        for (auto* column : {&trace_.id, &trace_.start_micros, &trace_.duration_micros,
                             &trace_.byte_offset, &trace_.name_begin, &trace_.data_dep_begin,
                             &trace_.ctrl_dep_begin, &trace_.attribute_begin}) {
            column->reserve(nodes + 1);
        }
        trace_.type.reserve(nodes);
    }

    void reserve_pools(double growth) {
        const auto grow = [growth](auto& pool) {
            pool.reserve(static_cast<std::size_t>(growth * static_cast<double>(pool.size())));
        };
        grow(trace_.name_bytes);
        grow(trace_.data_dep);
        grow(trace_.ctrl_dep);
        grow(trace_.attributes);
        grow(trace_.io);
        grow(trace_.text);
        grow(trace_.numbers);
        grow(trace_.texts);
    }

    void metadata(WireReader& file) {
        try {
            read_metadata(file.record());
        } catch (const TraceFault& fault) {
            fail_in_record(fault, 0, 0);
        }
    }

    void read_metadata(WireReader in) {
        while (!in.at_end()) {
            const std::uint64_t at = in.offset();
            const WireTag tag = in.tag();
            if (tag.field == field::metadata_version) {
                trace_.version = text(in, tag, at, "version");
            } else if (tag.field == field::metadata_attribute) {
                expect(tag, WireType::block, at, "attr");
                attribute(in.message());
            } else {
                unknown(in, tag, at, MessageKind::metadata, 0);
            }
        }
    }

    void node(WireReader& file) {
        NodeRow row;
        row.byte_offset = file.offset();
        try {
            const WireReader record = file.record();
            if (!has_metadata() && !told_) {
                check_canonical(record);
            }
            read_node(record, row);
        } catch (const TraceFault& fault) {
            fail_in_record(fault, trace_.size() + 1, row.id);
        }
        trace_.add_node(row);
    }

    // Separates files without metadata from damaged and older ones, by what their writers always
    // wrote.
    static void check_canonical(WireReader in) {
        const std::uint64_t begin = in.offset();
        bool named = false;
        bool typed = false;
        while (!in.at_end()) {
            const std::uint64_t at = in.offset();
            const WireTag tag = in.tag();
            const bool is_block = tag.type == WireType::block;
            const bool is_number = tag.field == field::node_id || tag.field == field::node_type ||
                                   tag.field == field::node_start_micros ||
                                   tag.field == field::node_duration_micros;
            const bool known = tag.field <= field::node_attribute &&
                               (is_number ? tag.type == WireType::varint : is_block);
            if (!known || (is_number && in.varint() == 0) ||
                (is_block && in.block().empty() && tag.field < field::node_inputs)) {
                throw TraceFault(at, "field " + std::to_string(tag.field) +
                                         " is not written so by the writers of layout 0.0.4");
            }
            named |= tag.field == field::node_name;
            typed |= tag.field == field::node_type;
        }
        if (!named || !typed) {
            throw TraceFault(begin, "a node without a name or a type");
        }
    }

    void read_node(WireReader in, NodeRow& row) {
        IoText inputs;
        IoText outputs;
        while (!in.at_end()) {
            const std::uint64_t at = in.offset();
            const WireTag tag = in.tag();
            switch (tag.field) {
                case field::node_attribute:
                    expect(tag, WireType::block, at, "attr");
                    attribute(in.message());
                    break;
                case field::node_id:
                    expect(tag, WireType::varint, at, "id");
                    row.id = in.varint();
                    break;
                case field::node_name:
                    row.name = text(in, tag, at, "name");
                    break;
                case field::node_type:
                    expect(tag, WireType::varint, at, "type");
                    row.type = static_cast<std::int32_t>(static_cast<std::uint32_t>(in.varint()));
                    break;
                case field::node_ctrl_deps: deps(in, tag, at, "ctrl_deps", trace_.ctrl_dep); break;
                case field::node_data_deps: deps(in, tag, at, "data_deps", trace_.data_dep); break;
                case field::node_start_micros:
                    expect(tag, WireType::varint, at, "start_time_micros");
                    row.start_micros = in.varint();
                    break;
                case field::node_duration_micros:
                    expect(tag, WireType::varint, at, "duration_micros");
                    row.duration_micros = in.varint();
                    break;
                case field::node_inputs:
                    expect(tag, WireType::block, at, "inputs");
                    io(in.message(), inputs, MessageKind::inputs);
                    break;
                case field::node_outputs:
                    expect(tag, WireType::block, at, "outputs");
                    io(in.message(), outputs, MessageKind::outputs);
                    break;
                default: unknown(in, tag, at, MessageKind::node, trace_.size());
            }
        }
        keep(inputs, IoSide::inputs);
        keep(outputs, IoSide::outputs);
    }

    static void deps(WireReader& in, WireTag tag, std::uint64_t at, const char* what,
                     std::vector<std::uint64_t>& out) {
        if (tag.type == WireType::varint) {
            out.push_back(in.varint());
            return;
        }
        expect(tag, WireType::block, at, what);
        for (WireReader packed = in.message(); !packed.at_end();) {
            out.push_back(packed.varint());
        }
    }

    void io(WireReader in, IoText& out, MessageKind of) {
        out.present = true;
        while (!in.at_end()) {
            const std::uint64_t at = in.offset();
            const WireTag tag = in.tag();
            switch (tag.field) {
                case field::io_values: out.values = text(in, tag, at, "values"); break;
                case field::io_shapes: out.shapes = text(in, tag, at, "shapes"); break;
                case field::io_types: out.types = text(in, tag, at, "types"); break;
                default: unknown(in, tag, at, of, trace_.size());
            }
        }
    }

    void keep(const IoText& io, IoSide side) {
        if (io.present) {
            trace_.io.push_back({trace_.size(), side, trace_.add_text(io.values),
                                 trace_.add_text(io.shapes), trace_.add_text(io.types)});
        }
    }

    void attribute(WireReader in) {
        Attribute& out = trace_.add_attribute();
        std::string_view name;
        std::uint64_t name_end = in.offset();
        std::uint32_t known = Interner::absent;
        while (!in.at_end()) {
            const std::uint64_t at = in.offset();
            const WireTag tag = in.tag();
            if (tag.field >= field::attribute_first_value && tag.field <= field::attribute_last_value) {
                value(in, tag, at, out);
            } else if (tag.field == field::attribute_name) {
                expect(tag, WireType::block, at, "attr.name");
                name = in.block();
                name_end = in.offset();
                if (reading_ != Reading::everything) {
                    known = attribute_name(name, name_end);
                    if (!is_wanted(known)) {
                        trace_.drop_attribute();
                        return;
                    }
                }
            } else if (tag.field == field::attribute_doc) {
                trace_.set_doc(text(in, tag, at, "attr.doc_string"));
            } else {
                unknown(in, tag, at, MessageKind::attribute, trace_.attributes.size() - 1);
            }
        }
        out.name = known != Interner::absent ? known : attribute_name(name, name_end);
    }

    bool is_wanted(std::uint32_t known) {
        while (wanted_.size() <= known) {
            const std::string& next = trace_.attribute_names.names()[wanted_.size()];
            wanted_.push_back(among(execution_attributes, next) ||
                              (includes(reading_, Reading::execution_and_tensors) &&
                               among(tensor_attributes, next)) ||
                              (includes(reading_, Reading::execution_and_kernels) &&
                               (among(kernel_labels, next) || among(kernel_sizes, next))) ||
                              (includes(reading_, Reading::execution_and_passes) &&
                               among(pass_attributes, next)));
        }
        return wanted_[known];
    }

    std::uint32_t attribute_name(std::string_view name, std::uint64_t end) {
        return order_of_names_.number(name, [this, end](std::string_view text) {
            const std::uint32_t known = trace_.attribute_names.find(text);
            if (known == Interner::absent) {
                check_utf8(text, end, "attr.name");
            }
            return trace_.attribute_names.intern(text);
        });
    }

    // The last counts, but lists in parts are joined.
    void value(WireReader& in, WireTag tag, std::uint64_t at, Attribute& out) {
        const auto kind = static_cast<AttributeKind>(tag.field);
        const Coding& coding = coding_of(kind);
        if (is_list(kind)) {
            expect(tag, WireType::block, at, kind_name(kind));
            list(in.message(), kind, out);
            return;
        }
        expect(tag, coding.wire, at, kind_name(kind));
        out.kind = kind;
        if (is_text(kind)) {
            const std::string_view bytes =
                kind == AttributeKind::string ? utf8(in, "string_val") : in.block();
            out.value = trace_.add_text(bytes).begin;
            out.count = static_cast<std::uint32_t>(bytes.size());
        } else {
            out.value = read_number(in, coding);
            out.count = 0;
        }
    }

    void list(WireReader in, AttributeKind kind, Attribute& out) {
        const std::size_t number = trace_.attributes.size() - 1;
        if (out.kind != kind) {
            trace_.drop_foreign(MessageKind::list, number);
            out.kind = kind;
            out.count = 0;
            out.value = is_text(kind) ? trace_.texts.size() : trace_.numbers.size();
        }
        while (!in.at_end()) {
            const std::uint64_t at = in.offset();
            const WireTag tag = in.tag();
            if (tag.field != field::list_values) {
                unknown(in, tag, at, MessageKind::list, number);
            } else if (is_text(kind)) {
                expect(tag, WireType::block, at, kind_name(kind));
                const bool is_string = kind == AttributeKind::string_list;
                trace_.texts.push_back(trace_.add_text(is_string ? utf8(in, "string_list") : in.block()));
                ++out.count;
            } else {
                out.count += list_numbers(in, tag, at, kind);
            }
        }
    }

    std::uint32_t list_numbers(WireReader& in, WireTag tag, std::uint64_t at, AttributeKind kind) {
        const Coding& coding = coding_of(kind);
        if (tag.type != WireType::block) {
            expect(tag, coding.wire, at, kind_name(kind));
            trace_.numbers.push_back(read_number(in, coding));
            return 1;
        }
        std::uint32_t count = 0;
        for (WireReader packed = in.message(); !packed.at_end(); ++count) {
            trace_.numbers.push_back(read_number(packed, coding));
        }
        return count;
    }

    void unknown(WireReader& in, WireTag tag, std::uint64_t at, MessageKind of, std::uint64_t number) {
        if (trace_.unknown.field == 0) {
            trace_.unknown = {at, tag.field};
        }
        in.skip(tag.type);
        if (reading_ == Reading::everything) {
            trace_.add_foreign(of, number, in.since(at));
        }
    }

    Reading reading_;
    bool told_;  // the layout is known, not guessed
    NameOrder order_of_names_;
    std::vector<char> wanted_;  // by attribute name
    bool begun_ = false;
    Trace trace_;
};

std::size_t count_records(std::string_view bytes) {
    if (bytes.empty()) {
        throw TraceFault(0, "the file is empty; expected a metadata record and then nodes");
    }
    std::size_t records = 0;
    try {
        for (WireReader in(bytes); !in.at_end(); ++records) {
            look_up();
            in.record();
        }
    } catch (const TraceFault& fault) {
        fail_in_record(fault, records, 0);
    }
    return records;
}

Attempt attempt(std::string_view bytes, std::size_t records, Reading reading, Layout layout,
                bool told = false) {
    if (layout < Layout::v0_0_4a) {
        return attempt_older(bytes, layout);
    }
    Decoder decoder(reading, layout, told);
    try {
        decoder.run(bytes, records);
    } catch (const TraceFault& fault) {
        return {layout, decoder.records(), std::nullopt, fault};
    }
    const std::size_t understood = decoder.records();
    return {layout, understood, decoder.take(), std::nullopt};
}

[[noreturn]] void refuse(Layout older, Layout newer) {
    throw TraceFault(0, std::string("the file fits layout ") + layout_name(older) + " as well as " +
                            layout_name(newer) +
                            ", in which it means different things, and holds nothing that tells them "
                            "apart; say which one it is: yantra chakra rewrite --layout");
}

bool differ(const Trace& a, const Trace& b) {
    return a.type != b.type || a.start_micros != b.start_micros || a.duration_micros != b.duration_micros;
}

// The newest that fits, if they agree on types and times; else the one that explains most.
Attempt best_older(std::string_view bytes, std::size_t records, Reading reading) {
    Attempt best = attempt(bytes, records, reading, Layout::v0_0_4a);
    for (const Layout layout : {Layout::v0_0_3, Layout::v0_0_3a, Layout::v0_0_2, Layout::v0_0_1}) {
        Attempt next = attempt(bytes, records, reading, layout);
        if (best.trace) {
            if (next.trace && differ(*next.trace, *best.trace)) {
                refuse(layout, best.layout);
            }
        } else if (next.trace || next.records > best.records) {
            best = std::move(next);
        }
    }
    return best;
}

Trace trace_of(Attempt attempt) {
    if (!attempt.trace) {
        throw *attempt.fault;
    }
    return std::move(*attempt.trace);
}

}  // namespace

Trace decode(std::string_view bytes, Reading reading, std::optional<Layout> layout) {
    const std::size_t records = count_records(bytes);
    Attempt today =
        attempt(bytes, records, reading, layout.value_or(Layout::today), layout.has_value());
    if (layout || (today.trace && today.trace->unknown.field == 0)) {
        return trace_of(std::move(today));
    }
    Attempt older = best_older(bytes, records, reading);
    if (older.trace) {
        return std::move(*older.trace);
    }
    if (!today.trace && older.records > today.records) {
        throw TraceFault(older.fault->byte_offset(), older.fault->problem() + " (layout " +
                                                         layout_name(older.layout) +
                                                         " explains the file up to here)");
    }
    return trace_of(std::move(today));
}

}  // namespace yantra
