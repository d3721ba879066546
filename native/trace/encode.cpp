// The encoder: each message is built in its own reused buffer, then appended with its length.
#include "trace/encode.hpp"

#include <span>

#include "base/ensure.hpp"
#include "base/wire_writer.hpp"
#include "trace/coding.hpp"

namespace yantra {

namespace {

void write_number(WireWriter& out, const Coding& coding, std::uint64_t bits) {
    switch (coding.wire) {
        case WireType::varint:
            out.varint(coding.sign == Coding::Sign::zigzag ? zigzag(bits) : bits);
            return;
        case WireType::fixed64: out.fixed64(bits); return;
        case WireType::fixed32: out.fixed32(static_cast<std::uint32_t>(bits)); return;
        default: ensure(false, "encode: text where a number was expected");
    }
}

class Encoder {
public:
    explicit Encoder(const Trace& trace) : trace_(trace) {}

    std::string run() {
        metadata();
        for (std::size_t record = 0; record < trace_.size(); ++record) {
            node(record);
        }
        return std::move(file_);
    }

private:
    void metadata() {
        record_.clear();
        text(record_, field::metadata_version, trace_.version);
        for (const Attribute& item : trace_.metadata_attributes()) {
            attribute(field::metadata_attribute, item);
        }
        WireWriter(file_).block(record_);
    }

    void node(std::size_t record) {
        record_.clear();
        number(record_, field::node_id, trace_.id[record]);
        text(record_, field::node_name, trace_.name(record));
        number(record_, field::node_type, sign_extend32(static_cast<std::uint32_t>(trace_.type[record])));
        deps(field::node_ctrl_deps, trace_.ctrl_deps(record));
        deps(field::node_data_deps, trace_.data_deps(record));
        number(record_, field::node_start_micros, trace_.start_micros[record]);
        number(record_, field::node_duration_micros, trace_.duration_micros[record]);
        io(field::node_inputs, trace_.io_of(record, IoSide::inputs));
        io(field::node_outputs, trace_.io_of(record, IoSide::outputs));
        for (const Attribute& item : trace_.attributes_of(record)) {
            attribute(field::node_attribute, item);
        }
        WireWriter(file_).block(record_);
    }

    static void number(std::string& out, std::uint32_t field, std::uint64_t value) {
        if (value != 0) {
            WireWriter writer(out);
            writer.tag(field, WireType::varint);
            writer.varint(value);
        }
    }

    static void text(std::string& out, std::uint32_t field, std::string_view value) {
        if (!value.empty()) {
            WireWriter(out).block(field, value);
        }
    }

    void deps(std::uint32_t field, std::span<const std::uint64_t> ids) {
        if (ids.empty()) {
            return;
        }
        packed_.clear();
        WireWriter packed(packed_);
        for (const std::uint64_t id : ids) {
            packed.varint(id);
        }
        WireWriter(record_).block(field, packed_);
    }

    void io(std::uint32_t field, const IoInfo* info) {
        if (info == nullptr) {
            return;
        }
        message_.clear();
        text(message_, field::io_values, trace_.view(info->values));
        text(message_, field::io_shapes, trace_.view(info->shapes));
        text(message_, field::io_types, trace_.view(info->types));
        WireWriter(record_).block(field, message_);
    }

    void attribute(std::uint32_t field, const Attribute& item) {
        message_.clear();
        text(message_, field::attribute_name, trace_.attribute_name(item));
        text(message_, field::attribute_doc, trace_.doc_of(item));
        if (item.kind != AttributeKind::none) {
            value(item);
        }
        WireWriter(record_).block(field, message_);
    }

    // The value is a oneof, so it is written even when it is zero or empty.
    void value(const Attribute& item) {
        WireWriter out(message_);
        const auto field = static_cast<std::uint32_t>(item.kind);
        if (is_list(item.kind)) {
            list(item);
            out.block(field, list_);
        } else if (is_text(item.kind)) {
            out.block(field, trace_.text_of(item));
        } else {
            out.tag(field, coding_of(item.kind).wire);
            write_number(out, coding_of(item.kind), item.value);
        }
    }

    void list(const Attribute& item) {
        list_.clear();
        WireWriter out(list_);
        if (is_text(item.kind)) {
            for (const Text& piece : trace_.texts_of(item)) {
                out.block(field::list_values, trace_.view(piece));
            }
        } else if (item.count > 0) {
            packed_.clear();
            WireWriter packed(packed_);
            for (const std::uint64_t bits : trace_.numbers_of(item)) {
                write_number(packed, coding_of(item.kind), bits);
            }
            out.block(field::list_values, packed_);
        }
    }

    const Trace& trace_;
    std::string file_;
    std::string record_;   // the node or the metadata being written
    std::string message_;  // the attribute or the IOInfo inside it
    std::string list_;     // the list inside that
    std::string packed_;   // the packed numbers inside that
};

}  // namespace

std::string encode(const Trace& trace) { return Encoder(trace).run(); }

}  // namespace yantra
