// A block of a training step as one of other layers: names, the attributes `layer` and `chunk`, and tags.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "trace/trace.hpp"

namespace yantra {

// `layers.7` becomes `layers.9` with `layers` 2, wherever a name begins or follows a space. A tag below
// `first_inner` moves by `tags`, another by `inner_tags`. Every `chunk` becomes `chunk`.
struct Relabel {
    std::int64_t layers = 0;
    std::int64_t chunk = 0;
    std::int64_t tags = 0;
    std::int64_t inner_tags = 0;
    std::int64_t first_inner = 0;
};

Trace relabelled(const Trace& block, const Relabel& by);

// A text with the numbers of its layers moved on.
std::string with_layers(std::string_view text, std::int64_t layers);

}  // namespace yantra
