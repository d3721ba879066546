#include "trace/tools/encode.hpp"

#include <span>

#include "base/ensure.hpp"
#include "base/interruption.hpp"
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

void present_number(std::string& out, std::uint32_t field, std::uint64_t value) {
    if (value != 0) {
        WireWriter(out).number(field, value);
    }
}

void present_text(std::string& out, std::uint32_t field, std::string_view value) {
    if (!value.empty()) {
        WireWriter(out).block(field, value);
    }
}

}  // namespace

void PartEncoder::metadata(std::string& out) {
    present_text(out, field::metadata_version, trace_.version);
    for (const Attribute& item : trace_.metadata_attributes()) {
        attribute(field::metadata_attribute, item, item.value, out);
    }
    foreign(MessageKind::metadata, 0, out);
}

void PartEncoder::id(std::uint64_t value, std::string& out) {
    present_number(out, field::node_id, value);
}

void PartEncoder::identity(std::size_t record, std::string& out) {
    present_text(out, field::node_name, trace_.name(record));
    present_number(out, field::node_type, sign_extend32(static_cast<std::uint32_t>(trace_.type[record])));
}

void PartEncoder::ctrl_deps(std::span<const std::uint64_t> ids, std::string& out) {
    deps(field::node_ctrl_deps, ids, out);
}

void PartEncoder::data_deps(std::span<const std::uint64_t> ids, std::string& out) {
    deps(field::node_data_deps, ids, out);
}

void PartEncoder::times(std::size_t record, std::string& out) {
    present_number(out, field::node_start_micros, trace_.start_micros[record]);
    present_number(out, field::node_duration_micros, trace_.duration_micros[record]);
    io(field::node_inputs, trace_.io_of(record, IoSide::inputs), MessageKind::inputs, out);
    io(field::node_outputs, trace_.io_of(record, IoSide::outputs), MessageKind::outputs, out);
}

void PartEncoder::foreign(std::size_t record, std::string& out) {
    foreign(MessageKind::node, record, out);
}

void PartEncoder::foreign(MessageKind of, std::uint64_t number, std::string& out) {
    for (const ForeignFields& piece : trace_.foreign_of(of, number)) {
        out.append(trace_.view(piece.bytes));
    }
}

void PartEncoder::deps(std::uint32_t field, std::span<const std::uint64_t> ids, std::string& out) {
    if (ids.empty()) {
        return;
    }
    packed_.clear();
    WireWriter packed(packed_);
    for (const std::uint64_t parent : ids) {
        packed.varint(parent);
    }
    WireWriter(out).block(field, packed_);
}

void PartEncoder::io(std::uint32_t field, const IoInfo* info, MessageKind of, std::string& out) {
    if (info == nullptr) {
        return;
    }
    message_.clear();
    present_text(message_, field::io_values, trace_.view(info->values));
    present_text(message_, field::io_shapes, trace_.view(info->shapes));
    present_text(message_, field::io_types, trace_.view(info->types));
    foreign(of, info->record, message_);
    WireWriter(out).block(field, message_);
}

void PartEncoder::attribute(const Attribute& item, std::string& out) {
    attribute(field::node_attribute, item, item.value, out);
}

void PartEncoder::attribute(const Attribute& item, std::uint64_t value, std::string& out) {
    attribute(field::node_attribute, item, value, out);
}

void PartEncoder::attribute(std::uint32_t field, const Attribute& item, std::uint64_t bits,
                            std::string& out) {
    message_.clear();
    present_text(message_, field::attribute_name, trace_.attribute_name(item));
    present_text(message_, field::attribute_doc, trace_.doc_of(item));
    if (item.kind != AttributeKind::none) {
        value(item, bits);
    }
    foreign(MessageKind::attribute, number_of(item), message_);
    WireWriter(out).block(field, message_);
}

// A oneof, so it is written even if zero or empty.
void PartEncoder::value(const Attribute& item, std::uint64_t bits) {
    WireWriter out(message_);
    const auto field = static_cast<std::uint32_t>(item.kind);
    if (is_list(item.kind)) {
        list(item);
        out.block(field, list_);
    } else if (is_text(item.kind)) {
        out.block(field, trace_.text_of(item));
    } else {
        out.tag(field, coding_of(item.kind).wire);
        write_number(out, coding_of(item.kind), bits);
    }
}

void PartEncoder::list(const Attribute& item) {
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
    foreign(MessageKind::list, number_of(item), list_);
}

std::uint64_t PartEncoder::number_of(const Attribute& item) const {
    return static_cast<std::uint64_t>(&item - trace_.attributes.data());
}

std::string encode(const Trace& trace) {
    PartEncoder parts(trace);
    std::string file;
    std::string record;
    parts.metadata(record);
    WireWriter(file).block(record);
    for (std::size_t at = 0; at < trace.size(); ++at) {
        look_up();
        record.clear();
        PartEncoder::id(trace.id[at], record);
        parts.identity(at, record);
        parts.ctrl_deps(trace.ctrl_deps(at), record);
        parts.data_deps(trace.data_deps(at), record);
        parts.times(at, record);
        for (const Attribute& item : trace.attributes_of(at)) {
            parts.attribute(item, record);
        }
        parts.foreign(at, record);
        WireWriter(file).block(record);
    }
    return file;
}

}  // namespace yantra
