// A block moved to other layers: names, `layer`, `chunk`, and tags.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "trace/trace.hpp"

namespace yantra {

// With `layers` 2, `layers.7` becomes `layers.9` at the start of a name or after a space. Tags
// below `first_inner` move by `tags`, others by `inner_tags`.
struct Relabel {
    std::int64_t layers = 0;
    std::int64_t chunk = 0;
    std::int64_t tags = 0;
    std::int64_t inner_tags = 0;
    std::int64_t first_inner = 0;
};

Trace relabelled(const Trace& block, const Relabel& by);

std::string with_layers(std::string_view text, std::int64_t layers);

}  // namespace yantra
