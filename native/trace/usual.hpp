// A graph straight from the bytes of a trace, where the file is as files usually are.
//
// Trade-off: a second way to the same graph, without the columns of a Trace between: it takes half the time
// and a third of the memory. It reads only what needs no judgement: today's layout, distinct ids, known
// fields, attributes of the expected types. At anything else it gives up, and the decoder and
// the builder, which know what to say, read the file from its start.
#pragma once

#include <optional>
#include <string_view>

#include "trace/graph.hpp"

namespace yantra {

// What build_graph(decode(bytes, Reading::execution), false, kernels) gives, or nothing.
std::optional<Graph> usual_graph(std::string_view bytes, bool kernels);

}  // namespace yantra
