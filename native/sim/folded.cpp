// Folded runs: one rank of each class runs, and its messages come to the class of their destination.
//
// A message of a representative to rank p stands for those of its whole class. It reaches the
// representative of p's class as the message of that one's own peer: from the same class, over the
// same distance, so in the same tick.
#include <algorithm>

#include "base/ensure.hpp"
#include "sim/simulation.hpp"

namespace yantra {

// Streams of communicators alike meet in one place, with a member for each class.
u32 Simulation::members_of(const Stream& s, u32 circle) const {
    return folding_ ? static_cast<u32>(folding_->circles[circle].size())
                    : model_.plans[s.plan].communicator_size;
}

// The slots that the end of a node frees and that its children want, as bits; and those that stand
// open although somebody wants them, as the quirk of skipped nodes leaves them.
u64 Simulation::slots_around(const Rank& r, u32 node) const {
    const Job& job = *r.job;
    const Graph& graph = *job.graph;
    u64 slots = r.ready.wanted([&](u32 slot) { return slot_open(r, slot); });
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
            return Ties::everything;  // it ends at once, and what follows starts
        }
    }
    return slots;
}

// Sends or receives a node's message on the channel that its class and its peer's share.
void Simulation::message_on_channel(u32 rank, u32 node) {
    const Op& op = op_of(rank, node);
    const Continuation then{Continuation::node, rank, node};
    const u32 peer = peer_of(rank, op);
    const Folding::Channel& channel = folding_->channel(rank, peer);
    const bool sends = op.kind == OpKind::send;
    const u32 end = sends ? channel.out : channel.in;
    const MatchKey key{op.bytes, op.tag, end, end};
    ties_.posts(rank, queue_.now(), sends ? key : MatchKey{op.bytes, op.tag, end, none});
    if (sends) {
        if (folded_links_ != nullptr && ties_.alone(rank, queue_.now())) {
            folded_links_->caused_by(send_order_.node_sends(rank, queue_.now(), ties_.event()));
        }
        send_as(key, real(rank), peer, then);
    } else {
        receive_as(key, then);
    }
}

// Slots and queues of a rank are about to change: whether it mattered in which order they last did.
void Simulation::settle_ties(u32 rank) {
    const Rank& r = ranks_[rank];
    if (folded_links_ != nullptr && !send_order_.rank_changes(rank, queue_.now(), ties_.event())) {
        ties_.note("chunks that start together send in the tick in which something else starts", rank);
    }
    ties_.settle(rank, queue_.now(), r.ready.wanted([](u32) { return true; }), [&r](u32 queue) {
        return r.queues[queue].streams.size() > r.queues[queue].running;
    });
}

// The next message counts for those of the whole class.
void Simulation::count_alike(u32 rank) {
    network_->stand_for(folding_->count[rank]);
    message_count_ += folding_->count[rank];
}

void Simulation::tell_for_class(const Stream& s, const Notice& notice) {
    count_alike(s.rank);
    if (folded_links_ != nullptr) {
        const u32 stream = meetings_[s.meeting].stream[s.member];
        folded_links_->caused_by(send_order_.chunk_sends(s.rank, queue_.now(), stream, s.id));
    }
    network_->send(real(s.rank), s.exchange.to_rank, s.exchange.send_bytes, notice, {});
}

// Of a new tick: what the last one left open is looked at first, as that forgets it.
void Simulation::meet_barrier(u32 rank, u32 stream, bool looks) {
    settle_ties(rank);
    ties_.meets_barrier(rank, queue_.now(), stream, looks);
}

// Notes how a packet gets from its hand-over, which is now, to the network.
void Simulation::note_packet(const Stream& s, u32 stream, u32 run) {
    const ExchangeState& x = s.exchange;
    const Run& details = x.machine->runs[run];
    SendOrder::Packet packet{ties_.event(), queue_.now(), queue_.now(), queue_.now() + x.hand_over_ticks,
                             details.reduce.num != 0};
    if (packet.reduced) {
        packet.registered = packet.due;
        packet.due += reduction_ticks(details.reduce.of(x.data, x.round_up));
    }
    send_order_.hand_over(s.rank, stream, packet);
}

// The packets that a phase hands over as it starts.
void Simulation::note_window(const Stream& s, u32 stream) {
    if (folded_links_ == nullptr) {
        return;
    }
    send_order_.phase_starts(s.rank, queue_.now(), stream);
    const ExchangeProgram& machine = *s.exchange.machine;
    u64 left = machine.window;
    for (u32 run = 0; left > 0; ++run) {
        for (u64 i = std::min(left, machine.runs[run].count); i > 0; --i, --left) {
            note_packet(s, stream, run);
        }
    }
}

void Simulation::note_receipt(const Stream& s, u32 stream) {
    if (folded_links_ != nullptr) {
        note_packet(s, stream, s.exchange.injected.run);
    }
    const ExchangeProgram& machine = *s.exchange.machine;
    if (machine.barrier_at > 0 && !machine.barrier_counts_hand_overs) {
        meet_barrier(s.rank, stream, false);
    }
}

// Whether a queue never holds chunks of two collectives, and keeps them in order: then all that wait
// in it have one priority, and what enters it is last.
bool Simulation::has_one_collective_at_a_time() const {
    const ResourceMap& slots = model_.resources;
    const bool in_one_slot = std::all_of(
        slots.collective.begin(), slots.collective.end(),
        [&](u8 slot) { return slot == slots.collective.front() && slots.capacity[slot] == 1; });
    return model_.system.intra_dimension == IntraDimension::fifo &&
           (in_one_slot || !model_.quirks.phases_as_ready);
}

// Collectives that start in one tick may start in any order only if they share neither numbers nor
// queues.
void Simulation::note_collective(u32 rank, u32 communicator) {
    const bool apart = !model_.quirks.phases_as_ready && !model_.quirks.half_queues &&
                       model_.system.inter_dimension == InterDimension::ascending;
    ties_.collective_starts(rank, queue_.now(), apart ? communicator : none);
}

// Puts one link for each class of links in the place of all.
void Simulation::keep_links_of_classes() {
    auto links = std::make_unique<FoldedLinks>(
        grid_, model_.scale, queue_, folding_->links,
        [this](u64 first, u64 second) { return send_order_.in_one_order(first, second); },
        [this](const Links& all, u32 link) {
            ties_.note("two messages come in one tick to the link " + all.name(link), none);
        });
    folded_links_ = links.get();
    network_ = std::move(links);
}

std::function<std::vector<NetworkModel::LinkRecord>()> Simulation::links_on_demand() const {
    return [folding = folding_, uses = folded_links_->uses(), dimensions = model_.dimensions,
            tables = model_.tables] {
        const Grid grid(dimensions, tables);
        return FoldedLinks::records(Links(grid), folding->links, uses);
    };
}

// Gives every rank what its class has; the nodes of a class stay in one place.
void Simulation::expand(Outcome& out) const {
    const std::vector<u32>& class_of = folding_->class_of;
    out.finish.clear();
    for (u32 at : class_of) {
        out.finish.push_back(finish_[at]);
        out.compute_busy.push_back(ranks_[at].compute_busy);
        out.first_node.push_back(ranks_[at].first_node);
    }
    out.finish_order.clear();
    out.class_of = class_of;
    out.folded = true;
}

}  // namespace yantra
