// The decoder of today's layout: one pass to count records, one to fill the columns of a Trace. Then the
// choice of the layout.
#include "trace/decode.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "base/wire.hpp"
#include "trace/coding.hpp"
#include "trace/fields.hpp"
#include "trace/legacy.hpp"

namespace yantra {

namespace {

struct IoText {
    bool present = false;
    std::string_view values, shapes, types;
};

// The attributes that building a Graph looks at.
constexpr std::array<std::string_view, 14> execution_attributes{
    "is_cpu_op", "comm_type", "comm_size",    "comm_priority", "comm_src",      "comm_dst",
    "comm_tag",  "num_ops",   "tensor_size",  "pg_name",       "involved_dim",  "duration_ns",
    "msg_chunk_cnt", "total_chunk_cnt"};
constexpr std::array<std::string_view, 2> tensor_attributes{"inputs", "outputs"};

template <std::size_t Size>
bool among(const std::array<std::string_view, Size>& names, std::string_view name) {
    return std::find(names.begin(), names.end(), name) != names.end();
}

class Decoder {
public:
    explicit Decoder(Reading reading) : reading_(reading) {}

    void run(std::string_view bytes, std::size_t records) {
        reserve(records - 1);
        WireReader in(bytes);
        metadata(in);
        while (!in.at_end()) {
            node(in);
            if (trace_.size() == sample_nodes) {
                const auto all = static_cast<double>(bytes.size());
                reserve_pools(1.1 * all / static_cast<double>(in.offset()));
            }
        }
    }

    // Records understood so far, metadata included.
    std::size_t records() const { return read_metadata_ ? trace_.size() + 1 : 0; }
    bool saw_unknown() const { return trace_.unknown.field != 0; }
    Trace take() { return std::move(trace_); }

private:
    static constexpr std::size_t sample_nodes = 4096;

    void reserve(std::size_t nodes) {
        for (auto* column : {&trace_.id, &trace_.start_micros, &trace_.duration_micros,
                             &trace_.byte_offset, &trace_.name_begin, &trace_.data_dep_begin,
                             &trace_.ctrl_dep_begin, &trace_.attribute_begin}) {
            column->reserve(nodes + 1);
        }
        trace_.type.reserve(nodes);
    }

    // Growing a pool copies it; the first nodes tell how large the pools will be. Untouched room costs
    // address space, not memory.
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
        trace_.add_metadata();
        read_metadata_ = true;
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
                unknown(in, tag, at);
            }
        }
    }

    void node(WireReader& file) {
        NodeRow row;
        row.byte_offset = file.offset();
        try {
            read_node(file.record(), row);
        } catch (const TraceFault& fault) {
            fail_in_record(fault, trace_.size() + 1, row.id);
        }
        trace_.add_node(row);
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
                    io(in.message(), inputs);
                    break;
                case field::node_outputs:
                    expect(tag, WireType::block, at, "outputs");
                    io(in.message(), outputs);
                    break;
                default: unknown(in, tag, at);
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

    void io(WireReader in, IoText& out) {
        out.present = true;
        while (!in.at_end()) {
            const std::uint64_t at = in.offset();
            const WireTag tag = in.tag();
            switch (tag.field) {
                case field::io_values: out.values = text(in, tag, at, "values"); break;
                case field::io_shapes: out.shapes = text(in, tag, at, "shapes"); break;
                case field::io_types: out.types = text(in, tag, at, "types"); break;
                default: unknown(in, tag, at);
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
        while (!in.at_end()) {
            const std::uint64_t at = in.offset();
            const WireTag tag = in.tag();
            if (tag.field >= field::attribute_first_value && tag.field <= field::attribute_last_value) {
                value(in, tag, at, out);
            } else if (tag.field == field::attribute_name) {
                expect(tag, WireType::block, at, "attr.name");
                name = in.block();
                name_end = in.offset();
                if (reading_ != Reading::everything && !is_wanted(name, name_end)) {
                    trace_.drop_attribute();
                    return;
                }
            } else if (tag.field == field::attribute_doc) {
                trace_.set_doc(text(in, tag, at, "attr.doc_string"));
            } else {
                unknown(in, tag, at);
            }
        }
        out.name = attribute_name(name, name_end);
    }

    bool is_wanted(std::string_view name, std::uint64_t end) {
        const std::uint32_t known = attribute_name(name, end);
        while (wanted_.size() <= known) {
            const std::string& next = trace_.attribute_names.names()[wanted_.size()];
            wanted_.push_back(among(execution_attributes, next) ||
                              (reading_ == Reading::execution_and_tensors &&
                               among(tensor_attributes, next)));
        }
        return wanted_[known];
    }

    // Only a name not seen before needs to be looked at byte by byte.
    std::uint32_t attribute_name(std::string_view name, std::uint64_t end) {
        const std::uint32_t known = trace_.attribute_names.find(name);
        if (known != Interner::absent) [[likely]] {
            return known;
        }
        check_utf8(name, end, "attr.name");
        return trace_.attribute_names.intern(name);
    }

    // The value is a oneof: the last one counts, but a list given in parts is put together.
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
        if (out.kind != kind) {
            out.kind = kind;
            out.count = 0;
            out.value = is_text(kind) ? trace_.texts.size() : trace_.numbers.size();
        }
        while (!in.at_end()) {
            const std::uint64_t at = in.offset();
            const WireTag tag = in.tag();
            if (tag.field != field::list_values) {
                unknown(in, tag, at);
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

    void unknown(WireReader& in, WireTag tag, std::uint64_t at) {
        if (trace_.unknown.field == 0) {
            trace_.unknown = {at, tag.field};
        }
        in.skip(tag.type);
    }

    Reading reading_;
    std::vector<bool> wanted_;  // by attribute name
    bool read_metadata_ = false;
    Trace trace_;
};

// Finds a cut-off file before any work is done on it.
std::size_t count_records(std::string_view bytes) {
    if (bytes.empty()) {
        throw TraceFault(0, "the file is empty; expected a metadata record and then nodes");
    }
    std::size_t records = 0;
    try {
        for (WireReader in(bytes); !in.at_end(); ++records) {
            in.record();
        }
    } catch (const TraceFault& fault) {
        fail_in_record(fault, records, 0);
    }
    return records;
}

}  // namespace

Trace decode(std::string_view bytes, Reading reading, std::optional<Layout> layout) {
    const std::size_t records = count_records(bytes);
    if (layout && *layout != Layout::today) {
        return decode_older(bytes, *layout);
    }
    Decoder today(reading);
    try {
        today.run(bytes, records);
    } catch (const TraceFault&) {
        std::optional<Trace> older = layout ? std::nullopt : find_older(bytes, today.records());
        if (!older) {
            throw;
        }
        return std::move(*older);
    }
    if (today.saw_unknown() && !layout) {
        if (std::optional<Trace> older = find_older(bytes, records)) {
            return std::move(*older);
        }
    }
    return today.take();
}

}  // namespace yantra
