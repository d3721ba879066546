// The nodes of a linked file as JSON, in the order of their ids.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "trace/replay/linked_file.hpp"

namespace yantra::linking {

// Writes nodes of `file`, whose references are places, in pieces.
class LinkedText {
public:
    // `sources`: for each operator the id of the one on another thread that it waits for, or -1.
    LinkedText(const replay::LinkedFile& file, std::int64_t origin_ns, std::span<const std::int64_t> sources)
        : file_(file), origin_ns_(origin_ns), sources_(sources) {}

    // Some nodes more, with a comma in front but of the first; empty at the end.
    std::string next();

private:
    void add_operator(std::uint32_t at);
    void add_device_op(std::uint32_t at);
    void head(std::int64_t id, std::uint32_t name, std::uint32_t parent);
    void tensors_and_attributes(std::uint32_t of);
    void times(std::int64_t dur, std::int64_t exclusive, std::int64_t start, std::int64_t source);
    void whole(const char* key, std::int64_t number);
    void micros(const char* key, std::int64_t nanos);
    void text(const char* key, std::uint32_t name);

    const replay::LinkedFile& file_;
    std::int64_t origin_ns_;
    std::span<const std::int64_t> sources_;
    std::uint32_t operator_ = 0, op_ = 0;
    std::size_t operator_comm_ = 0, op_comm_ = 0;
    std::string out_;
};

}  // namespace yantra::linking
