// Messages: what the network carried, as columns.
#pragma once

#include <vector>

#include "record/recording.hpp"
#include "model/model.hpp"
#include "run/outcome.hpp"

namespace yantra {

struct Messages {
    std::vector<u32> source;
    std::vector<u32> destination;
    std::vector<u32> tag;
    std::vector<u64> bytes;
    std::vector<u32> dimension;   // the lowest it crosses
    std::vector<u64> sent;
    std::vector<u64> arrived;
    std::vector<u64> queued;      // ticks in which it waited for busy links
    std::vector<u64> node;        // ids; `never` where nobody received it
    std::vector<u64> peer_node;
    std::vector<u64> alike;       // messages that it represents, itself included
};

Messages messages(const Model& model, const Recording& recording);

// `never` for no node.
u64 id_of(const Model& model, const Recording& recording, u32 place);

}  // namespace yantra
