// Encodes a Trace as a Chakra file (layout 0.0.4, not compressed), in one fixed form, as protobuf
// writes it: ascending fields, no default values, packed lists, unknown fields last.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "trace/trace.hpp"

namespace yantra {

std::string encode(const Trace& trace);

// In file order: length, id, identity, ctrl_deps, data_deps, times, attributes and foreign fields.
// Attributes are elements of the trace's `attributes`.
class PartEncoder {
public:
    explicit PartEncoder(const Trace& trace) : trace_(trace) {}

    void metadata(std::string& out);
    static void id(std::uint64_t value, std::string& out);
    void identity(std::size_t record, std::string& out);  // name and type
    void ctrl_deps(std::span<const std::uint64_t> ids, std::string& out);
    void data_deps(std::span<const std::uint64_t> ids, std::string& out);
    void times(std::size_t record, std::string& out);  // also inputs and outputs
    void attribute(const Attribute& item, std::string& out);
    // Writes the attribute with another number.
    void attribute(const Attribute& item, std::uint64_t value, std::string& out);

    void foreign(std::size_t record, std::string& out);  // fields that the schema does not know

private:
    void foreign(MessageKind of, std::uint64_t number, std::string& out);
    std::uint64_t number_of(const Attribute& item) const;
    void deps(std::uint32_t field, std::span<const std::uint64_t> ids, std::string& out);
    void io(std::uint32_t field, const IoInfo* info, MessageKind of, std::string& out);
    void attribute(std::uint32_t field, const Attribute& item, std::uint64_t value, std::string& out);
    void value(const Attribute& item, std::uint64_t bits);
    void list(const Attribute& item);

    const Trace& trace_;
    std::string message_;  // the attribute or IOInfo being written
    std::string list_;     // the list inside that
    std::string packed_;   // the packed numbers inside that
};

}  // namespace yantra
