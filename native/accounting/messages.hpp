// Messages: what the network carried, as columns.
#pragma once

#include "base/vector.hpp"
#include "record/recording.hpp"
#include "model/model.hpp"
#include "run/outcome.hpp"

namespace yantra {

struct Messages {
    Vector<u32> source;
    Vector<u32> destination;
    Vector<u32> tag;
    Vector<u64> bytes;
    Vector<u32> dimension;   // the lowest it crosses
    Vector<u64> sent;
    Vector<u64> arrived;
    Vector<u64> queued;      // ticks in which it waited for busy links
    Vector<u64> node;        // ids; `never` where nobody received it
    Vector<u64> peer_node;
    Vector<u64> alike;       // messages that it represents, itself included
};

Messages messages(const Model& model, const Recording& recording);

// `never` for no node.
u64 id_of(const Model& model, const Recording& recording, u32 place);

}  // namespace yantra
