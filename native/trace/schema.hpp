// The Chakra schema, layout 0.0.4 (October 2023; MLCommons Chakra, package ChakraProtoMsg).
// Trade-off: constants, not generated classes.
#pragma once

#include <cstdint>
#include <string_view>

namespace yantra {

// Those that differ on the wire.
enum class Layout : std::uint8_t {
    v0_0_1 = 0,   // January 2023: one field for every property
    v0_0_2 = 1,   // June 2023: attributes
    v0_0_3a = 2,  // July 2023: metadata nodes, bools
    v0_0_3 = 3,   // August 2023: unsigned integers
    v0_0_4a = 4,  // October 2023: as today, but files begin with a node, not metadata
    today = 5,
};

constexpr const char* layout_name(Layout layout) {
    constexpr const char* names[] = {"0.0.1", "0.0.2", "0.0.3a", "0.0.3", "0.0.4a", "0.0.4"};
    return names[static_cast<std::uint8_t>(layout)];
}

constexpr bool is_of_today(std::string_view version) {
    return version.empty() || version == "0.0.4" || version == "1.0.0";
}

enum class NodeType : std::int32_t {
    invalid = 0,
    metadata = 1,
    mem_load = 2,
    mem_store = 3,
    comp = 4,
    comm_send = 5,
    comm_recv = 6,
    comm_coll = 7,
};

// Field numbers in AttributeProto; even ones are lists.
enum class AttributeKind : std::uint8_t {
    none = 0,
    double_ = 3,
    double_list = 4,
    float_ = 5,
    float_list = 6,
    int32 = 7,
    int32_list = 8,
    int64 = 9,
    int64_list = 10,
    uint32 = 11,
    uint32_list = 12,
    uint64 = 13,
    uint64_list = 14,
    sint32 = 15,
    sint32_list = 16,
    sint64 = 17,
    sint64_list = 18,
    fixed32 = 19,
    fixed32_list = 20,
    fixed64 = 21,
    fixed64_list = 22,
    sfixed32 = 23,
    sfixed32_list = 24,
    sfixed64 = 25,
    sfixed64_list = 26,
    boolean = 27,
    boolean_list = 28,
    string = 29,
    string_list = 30,
    bytes = 31,
    bytes_list = 32,
};

constexpr bool is_list(AttributeKind kind) {
    return kind != AttributeKind::none && static_cast<std::uint8_t>(kind) % 2 == 0;
}

constexpr AttributeKind element_kind(AttributeKind kind) {
    return is_list(kind) ? static_cast<AttributeKind>(static_cast<std::uint8_t>(kind) - 1) : kind;
}

constexpr bool is_text(AttributeKind kind) {
    return element_kind(kind) == AttributeKind::string || element_kind(kind) == AttributeKind::bytes;
}

constexpr bool is_integer(AttributeKind kind) {
    return kind >= AttributeKind::int32 && kind <= AttributeKind::boolean && !is_list(kind);
}

constexpr bool is_signed(AttributeKind kind) {
    return kind == AttributeKind::int32 || kind == AttributeKind::int64 ||
           kind == AttributeKind::sint32 || kind == AttributeKind::sint64 ||
           kind == AttributeKind::sfixed32 || kind == AttributeKind::sfixed64;
}

inline constexpr const char* kind_names[] = {
    "none",        "",            "",           "double",        "double_list",  "float",
    "float_list",  "int32",       "int32_list", "int64",         "int64_list",   "uint32",
    "uint32_list", "uint64",      "uint64_list", "sint32",       "sint32_list",  "sint64",
    "sint64_list", "fixed32",     "fixed32_list", "fixed64",     "fixed64_list", "sfixed32",
    "sfixed32_list", "sfixed64",  "sfixed64_list", "bool",       "bool_list",    "string",
    "string_list", "bytes",       "bytes_list"};

// Protobuf's name, without `_val`.
constexpr const char* kind_name(AttributeKind kind) {
    return kind_names[static_cast<std::uint8_t>(kind)];
}

namespace field {  // field numbers of the messages
constexpr std::uint32_t metadata_version = 1;
constexpr std::uint32_t metadata_attribute = 2;

constexpr std::uint32_t node_id = 1;
constexpr std::uint32_t node_name = 2;
constexpr std::uint32_t node_type = 3;
constexpr std::uint32_t node_ctrl_deps = 4;
constexpr std::uint32_t node_data_deps = 5;
constexpr std::uint32_t node_start_micros = 6;
constexpr std::uint32_t node_duration_micros = 7;
constexpr std::uint32_t node_inputs = 8;
constexpr std::uint32_t node_outputs = 9;
constexpr std::uint32_t node_attribute = 10;

constexpr std::uint32_t io_values = 1;
constexpr std::uint32_t io_shapes = 2;
constexpr std::uint32_t io_types = 3;

constexpr std::uint32_t attribute_name = 1;
constexpr std::uint32_t attribute_doc = 2;
constexpr std::uint32_t attribute_first_value = 3;
constexpr std::uint32_t attribute_last_value = 32;

constexpr std::uint32_t list_values = 1;
}  // namespace field

inline constexpr std::string_view complete_order_name = "complete_order";

}  // namespace yantra
