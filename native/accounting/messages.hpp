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
    std::vector<u64> queued;      // of that, the ticks for which links were busy with others
    std::vector<u64> node;        // ids; `never` where nobody received it
    std::vector<u64> peer_node;
    std::vector<u64> alike;       // messages of other ranks that it stands for, and itself
};

Messages messages(const Model& model, const Recording& recording);

}  // namespace yantra
