// HostFile: nodes of a host execution trace, schemas 1.0.2 and later, straight into columns.
// Trade-off: what is not as the observer writes it is left to others, as a whole.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/interner.hpp"

namespace yantra::linking {

struct HostFile {
    // Texts are as in JSON, with its escapes.
    Interner names;
    Interner layouts;  // attributes with a zero byte for each whole number
    Interner tensors;

    std::vector<std::int64_t> id, parent, rf_id, tid, fw_tid, seq_id, scope;
    std::vector<std::uint32_t> name, layout, inputs, outputs;
    std::vector<std::int64_t> numbers;  // of all attributes
    std::vector<std::uint64_t> first;   // a node's numbers begin there
    std::vector<std::uint32_t> holes;   // numbers of a layout

    // Takes a list of nodes; false if it is not of the form.
    bool feed(std::string_view text);

    // Nodes come in order of their ids.
    void finish();
};

}  // namespace yantra::linking
