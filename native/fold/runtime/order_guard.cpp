#include "fold/runtime/order_guard.hpp"

#include <algorithm>
#include <vector>

namespace yantra {

OrderGuard::OrderGuard(const Model& model, const ActorClasses& classes)
    : model_(model),
      ticks_(static_cast<u32>(classes.representative.size())),
      sends_(static_cast<u32>(classes.representative.size())),
      one_at_a_time_(has_one_collective_at_a_time()),
      slots_of_actor_(classes.representative.size()),
      grew_in_(classes.communicator_classes.size()) {}

void OrderGuard::watch(const Engine& engine, const Executor& executor, const ChunkQueues& queues,
                       FoldedLinks* links) {
    engine_ = &engine;
    executor_ = &executor;
    queues_ = &queues;
    links_ = links;
    for (std::vector<u64>& grew_in : grew_in_) {
        grew_in.assign(queues.queues_per_set(), 0);
    }
    if (links != nullptr) {
        links->report_to(
            [this](u64 first, u64 second) { return sends_.in_one_order(first, second); },
            [this](const Links& all, u32 link) {
                ticks_.note("two messages come in one tick to the link " + all.name(link), none);
            });
    }
}

void OrderGuard::messages_come_at_once(u32 from, u32 to) {
    ticks_.note("two messages from rank " + std::to_string(from) + " to rank " + std::to_string(to) +
                    " come in one tick, and one has to follow the other",
                none);
}

bool OrderGuard::has_one_collective_at_a_time() const {
    const ResourceMap& slots = model_.work.resources;
    const bool in_one_slot = std::all_of(
        slots.collective.begin(), slots.collective.end(),
        [&](u8 slot) { return slot == slots.collective.front() && slots.capacity[slot] == 1; });
    return model_.collectives.system.intra_dimension == IntraDimension::fifo &&
           (in_one_slot || !model_.semantics.quirks.phases_as_ready);
}

// A new tick forgets what the last left open.
void OrderGuard::actor_changes(ActorId actor) {
    if (links_ != nullptr && !sends_.actor_changes(actor.index(), now(), ticks_.event())) {
        ticks_.note("chunks that start together send in the tick in which something else starts",
                    actor.index());
    }
    ticks_.settle(
        actor.index(), now(),
        [&] { return executor_->state().actors[actor].ready.wanted([](u32) { return true; }); },
        [&](u32 queue) { return queues_->waits(actor, queue); });
}

u64 OrderGuard::slots_around(ActorId actor, NodeId node) {
    const Nodes::OfActor& a = executor_->state().actors[actor];
    const Job& job = *a.parts.front().job;
    u64& around = known_slots(actor, job)[node.index()];
    if (around == 0) {
        around = slots_of(job, node.index());
    }
    return around == TickOrder::everything ? around : around | a.ready.wanted([&](u32 slot) {
        return executor_->nodes().slot_open(actor, slot);
    });
}

std::vector<u64>& OrderGuard::known_slots(ActorId actor, const Job& job) {
    std::vector<u64>*& known = slots_of_actor_[actor.index()];
    if (known == nullptr) {
        known = &slots_of_job_[&job];
        known->resize(job.ops.size());
    }
    return *known;
}

u64 OrderGuard::slots_of(const Job& job, u32 node) {
    const Graph& graph = *job.graph;
    u64 slots = 0;
    auto add = [&slots](const Op& op) {
        if (op.resource != unlimited) {
            slots |= u64{1} << (op.resource % 64u);
        }
    };
    add(job.ops[node]);
    for (u32 i = graph.child_begin[node]; i < graph.child_begin[node + 1]; ++i) {
        const Op& child = job.ops[graph.child[i]];
        add(child);
        if (child.kind == OpKind::skip) {
            return TickOrder::everything;  // it ends at once, and what follows starts
        }
    }
    return slots;
}

void OrderGuard::node_ends(ActorId actor, NodeId node) {
    ticks_.node_ends(actor.index(), now(), node.index(), slots_around(actor, node));
}

void OrderGuard::message_posted(ActorId actor, u64 bytes, u32 tag, u32 channel_end, bool sends) {
    ticks_.posts(actor.index(), now(), {bytes, tag, channel_end, sends ? channel_end : none});
    if (sends && links_ != nullptr && ticks_.alone(actor.index(), now())) {
        links_->caused_by(sends_.node_sends(actor.index(), now(), ticks_.event()));
    }
}

void OrderGuard::collective_starts(ActorId actor, u32 communicator) {
    const bool apart = !model_.semantics.quirks.phases_as_ready && !model_.semantics.quirks.half_queues &&
                       model_.collectives.system.inter_dimension == InterDimension::ascending;
    ticks_.collective_starts(actor.index(), now(), apart ? communicator : none);
}

void OrderGuard::chunk_leaves(ActorId actor, u32 queue) {
    ticks_.leaves(actor.index(), now(), queue);
}

void OrderGuard::chunk_enters(ActorId actor, u32 queue, bool last) {
    ticks_.enters(actor.index(), now(), queue, one_at_a_time_ && last,
                  model_.collectives.system.intra_dimension == IntraDimension::rg);
}

void OrderGuard::phase_order_grows(ActorId actor, u32 communicator_class, u32 queue,
                                   u64 latest_tick) {
    u64& grew_in = grew_in_[communicator_class][queue];
    if (latest_tick == now() && grew_in != ticks_.event()) {
        ticks_.note("chunks take the turns of a group in one tick", actor.index());
    }
    grew_in = ticks_.event();
}

void OrderGuard::phase_overtakes(ActorId actor, u64 tick) {
    if (tick == now()) {
        ticks_.note("members of a group would start different chunks in one tick", actor.index());
    }
}

void OrderGuard::exchange_starts(ActorId actor, ChunkId chunk) {
    if (links_ != nullptr) {
        sends_.phase_starts(actor.index(), now(), chunk.index());
    }
}

void OrderGuard::packet_handed_over(ActorId actor, ChunkId chunk, u64 ticks, u64 reduction_ticks) {
    if (links_ == nullptr) {
        return;
    }
    SendOrder::Packet packet{ticks_.event(), now(), now(), now() + ticks,
                             reduction_ticks != not_reduced};
    if (packet.reduced) {
        packet.registered = packet.due;
        packet.due += reduction_ticks;
    }
    sends_.hand_over(actor.index(), chunk.index(), packet);
}

void OrderGuard::barrier_met(ActorId actor, ChunkId chunk, bool looks) {
    actor_changes(actor);
    ticks_.meets_barrier(actor.index(), now(), chunk.index(), looks);
}

void OrderGuard::chunk_sends(ActorId actor, ChunkId chunk, u64 number) {
    if (links_ != nullptr) {
        links_->caused_by(sends_.chunk_sends(actor.index(), now(), chunk.index(), number));
    }
}

}  // namespace yantra
