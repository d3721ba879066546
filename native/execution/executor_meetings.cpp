// Calls that come to meetings, and those that start.
#include "execution/executor.hpp"

namespace yantra {

// The call waits without a slot.
void Executor::come_together(ActorId actor, const Part& part, NodeId node) {
    const Op& op = part.op(node);
    const u64 key = Meetings::key_of(*part.graph, node.index() - part.first, op.bytes);
    if (meetings_->come(key, part.communicator(op.communicator), {actor, node})) {
        start_meetings();
    }
}

void Executor::start_meetings() {
    meetings_->start_all(
        [this](const Meetings::Call& call) {
            const u8 slot = nodes_.op(call.actor, call.node).resource;
            return slot == unlimited || nodes_.slot_open(call.actor, slot);
        },
        [this](const Meetings::Call& call) { start_in_meeting(call); });
}

void Executor::start_in_meeting(const Meetings::Call& call) {
    OfActor& a = state().actors[call.actor];
    const Part& part = Nodes::part_of(a, call.node);
    const Op& op = part.op(call.node);
    if (op.resource != unlimited) {
        nodes_.take_slot(call.actor, a, op.resource);
    }
    if (op.kind == OpKind::collective) {
        enter_collective(call.actor, part, call.node, op);
    } else {
        local_.schedule(call.actor, op.ticks, op.bytes, done(op), call.node.index());
    }
}

}  // namespace yantra
