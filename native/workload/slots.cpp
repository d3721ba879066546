#include "workload/slots.hpp"

namespace yantra {

namespace {

bool needs_slot_in_complete_order(const NodeReader& reader, bool on_cpu) {
    if (reader.options.replay_only) {
        return false;
    }
    if (on_cpu) {
        return reader.options.cpu_slots_count;
    }
    return reader.type() != NodeType::comp || reader.options.compute_slots_count;
}

}  // namespace

u8 slot_of(const NodeReader& reader, const Op& op, bool on_cpu) {
    const ResourceMap& map = reader.options.resources;
    if (reader.graph.complete_order && !needs_slot_in_complete_order(reader, on_cpu)) {
        return unlimited;
    }
    if (on_cpu) {
        return map.cpu;
    }
    switch (reader.type()) {
        case NodeType::comp:
            return map.compute;
        case NodeType::comm_recv:
            return unlimited;
        case NodeType::mem_load:
        case NodeType::mem_store:
            return map.memory;
        case NodeType::comm_send:
            return map.send[op.communicator];
        case NodeType::comm_coll:
            return map.collective[op.communicator];
        default:
            return reader.options.skipped_nodes_do_not_wake ? map.memory : unlimited;
    }
}

}  // namespace yantra
