// LinkedFile: nodes of a linked trace as our linker writes them, read in pieces straight into columns.
// Trade-off: what is not of that form is left to others, as a whole.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/interner.hpp"

namespace yantra::replay {

struct LinkedFile {
    static constexpr std::int64_t no_time = INT64_MIN;

    // Texts are as in JSON, with its escapes.
    Interner names;
    Interner layouts;  // attributes with a zero byte for each whole number
    Interner tensors;

    struct {
        std::vector<std::int64_t> id, host_id, tid, start, dur, exclusive;
        std::vector<std::uint32_t> parent, name, layout, inputs, outputs;
        std::vector<std::int64_t> numbers;        // of all attributes
        std::vector<std::uint64_t> first{0};      // an operator's numbers begin there
    } operators;
    struct {
        std::vector<std::int64_t> id, device, stream, start, dur, launch_tid, launch_start, launch_end, correlation;
        std::vector<std::int64_t> bytes;          // -1: none
        std::vector<std::uint32_t> parent, name, cat, launch_name, group, after;
        std::vector<std::uint32_t> first{0};
        std::vector<std::uint8_t> is_launched;
    } ops;
    // Arguments of collectives, by place.
    std::vector<std::uint32_t> operators_with_comm, ops_with_comm;
    std::vector<std::string> operator_comm, op_comm;

    // Takes the text of whole nodes with commas between; false if it is not of the form.
    bool feed(std::string_view text);

    // Ids become places; false if they are not in order, dense and of the right kind.
    bool finish();
};

}  // namespace yantra::replay
