#include "run/diagnosis.hpp"

#include <algorithm>
#include <map>
#include <tuple>
#include <vector>

#include "transport/tags.hpp"

namespace yantra::inline YANTRA_RUN {

namespace {

constexpr std::size_t shown_at_most = 10;

class Diagnosis {
public:
    Diagnosis(const Model& model, const Grid& grid, const Executor& executor,
              const Transport& transport, const Collectives& collectives)
        : model_(model),
          grid_(grid),
          executor_(executor),
          transport_(transport),
          collectives_(collectives),
          entered_(grid.ranks()) {}

    std::vector<Waiting> all() {
        list_entered_collectives();
        std::vector<Waiting> lines;   // the first, in their order; ties by rank
        for (u32 rank = 0; rank < grid_.ranks(); ++rank) {
            const u32 node = actor(rank).finished ? none : oldest_waiting(rank);
            if (node == none) {
                continue;
            }
            Waiting line = explain(rank, node);
            const auto later = std::find_if(lines.begin(), lines.end(), [&line](const Waiting& other) {
                return std::pair{!line.is_cause, line.since} < std::pair{!other.is_cause, other.since};
            });
            lines.insert(later, std::move(line));
            if (lines.size() > shown_at_most) {
                lines.pop_back();
            }
        }
        return lines;
    }

private:
    // A communicator's k-th.
    struct Round {
        std::vector<u32> never;                   // members that will not enter it
        std::vector<u32> not_yet;                 // members that may still
        std::vector<std::pair<u32, u32>> kinds;   // the first rank of each different kind, its node
    };

    struct Offer {
        u64 bytes;
        u32 tag;
    };

    const Nodes::OfActor& actor(u32 rank) const { return executor_.state().actors[ActorId(rank)]; }
    u32 nodes_of(u32 rank) const { return static_cast<u32>(actor(rank).waiting.size()); }
    const Op& op_of(u32 rank, u32 node) const {
        return executor_.nodes().op(ActorId(rank), NodeId(node));
    }
    u32 peer_of(u32 rank, u32 node) const {
        return executor_.nodes().peer_of(ActorId(rank), NodeId(node)).index();
    }
    u32 communicator_of(u32 rank, u32 node) const {
        return executor_.nodes().communicator_of(ActorId(rank), NodeId(node));
    }
    u64 start_of(u32 rank, u32 node) const {
        return executor_.nodes().start_of(ActorId(rank), NodeId(node));
    }
    bool runs(u32 rank, u32 node) const {
        return start_of(rank, node) != never &&
               executor_.nodes().end_of(ActorId(rank), NodeId(node)) == never;
    }

    u32 oldest_waiting(u32 rank) const {
        u32 oldest = none;
        for (u32 node = 0; node < nodes_of(rank); ++node) {
            if (runs(rank, node) &&
                (oldest == none || start_of(rank, node) < start_of(rank, oldest))) {
                oldest = node;
            }
        }
        return oldest;
    }

    Waiting explain(u32 rank, u32 node) {
        Waiting w;
        w.rank = rank;
        w.node = node;
        w.since = start_of(rank, node);
        const Op& op = op_of(rank, node);
        if (op.kind == OpKind::collective) {
            explain_collective(w, op);
        } else if (op.kind == OpKind::send || op.kind == OpKind::receive) {
            explain_point_to_point(w, op);
        }
        return w;
    }

    void explain_point_to_point(Waiting& w, const Op& op) const {
        w.for_message = true;
        w.sends = op.kind == OpKind::send;
        explain_message(w, peer_of(w.rank, w.node), op.tag, op.bytes);
        w.peer_node = pending_partner(w);
        w.is_cause = w.peer_node == none;
    }

    void explain_message(Waiting& w, u32 peer, u32 tag, u64 bytes) const {
        w.peer = peer;
        w.tag = tag;
        w.bytes = bytes;
        w.peer_finished = actor(peer).finished;
        for (const Offer& offer : offers(w)) {
            if (offer.tag == tag && offer.bytes != bytes) {
                w.other_bytes = offer.bytes;
            } else if (offer.tag != tag && offer.bytes == bytes) {
                w.other_tag = offer.tag;
            }
        }
        w.is_cause = true;
    }

    std::vector<Offer> offers(const Waiting& w) const {
        const u32 src = w.sends ? w.rank : w.peer;
        const u32 dst = w.sends ? w.peer : w.rank;
        std::vector<Offer> found;
        const Transport::State& state = transport_.state();
        state.matcher.for_each(state.waiting(), [&](u32 first) {
            const MatchKey key = state.flights[first].waiting.key();
            const Matcher::Side side = state.flights[first].waiting.side;
            const bool control = key.tag >= rendezvous_tag_offset;
            if (!control && key.tag < tag_space && key.src == src && key.dst == dst &&
                side == (w.sends ? Matcher::Side::receive : Matcher::Side::send)) {
                found.push_back({key.bytes, key.tag});
            }
            if (control && !w.sends && key.src == dst && key.dst == src &&
                side == Matcher::Side::receive) {
                const Transport::Rendezvous* const send =
                    transport_.send_behind(state.flights[first].received);
                if (send != nullptr && send->tag < tag_space) {
                    found.push_back({send->bytes, send->tag});
                }
            }
        });
        return found;
    }

    // Not started.
    u32 pending_partner(const Waiting& w) const {
        const OpKind wanted = w.sends ? OpKind::receive : OpKind::send;
        for (u32 node = 0; node < nodes_of(w.peer); ++node) {
            const Op& op = op_of(w.peer, node);
            if (op.kind == wanted && peer_of(w.peer, node) == w.rank && op.tag == w.tag &&
                op.bytes == w.bytes && start_of(w.peer, node) == never) {
                return node;
            }
        }
        return none;
    }

    // In order.
    void list_entered_collectives() {
        for (u32 rank = 0; rank < grid_.ranks(); ++rank) {
            for (u32 node = 0; node < nodes_of(rank); ++node) {
                if (op_of(rank, node).kind == OpKind::collective && start_of(rank, node) != never) {
                    entered_[rank][communicator_of(rank, node)].push_back(node);
                }
            }
            for (auto& [communicator, nodes] : entered_[rank]) {
                std::sort(nodes.begin(), nodes.end(), [&](u32 a, u32 b) {
                    return std::pair{start_of(rank, a), a} < std::pair{start_of(rank, b), b};
                });
            }
        }
    }

    static auto kind_of(const Op& op) {
        return std::tuple{op.collective, op.bytes, op.custom, op.involved};
    }

    const Round& round(u32 communicator, std::size_t number) {
        const auto [entry, fresh] = rounds_.try_emplace({communicator, number});
        Round& result = entry->second;
        if (!fresh) {
            return result;
        }
        const u32 base = model_.collectives.communicators[communicator].base;
        const Shape& shape = *model_.collectives.layout_of(communicator).shape;
        for (u32 i = 0; i < shape.size(); ++i) {
            const u32 member = base + shape.offset(i);
            const std::vector<u32>& nodes = entered_[member][communicator];
            if (nodes.size() <= number) {
                const bool may_still = has_one_to_come(member, communicator);
                (may_still ? result.not_yet : result.never).push_back(member);
                continue;
            }
            const Op& op = op_of(member, nodes[number]);
            const bool known = std::any_of(result.kinds.begin(), result.kinds.end(), [&](auto other) {
                return kind_of(op_of(other.first, other.second)) == kind_of(op);
            });
            if (!known) {
                result.kinds.emplace_back(member, nodes[number]);
            }
        }
        return result;
    }

    bool takes_part(u32 rank, u32 other, u64 involved) const {
        for (u32 d = 0; d < grid_.dimensions(); ++d) {
            if ((involved >> d & 1) == 0 &&
                grid_.coordinate(rank, d) != grid_.coordinate(other, d)) {
                return false;
            }
        }
        return true;
    }

    void explain_collective(Waiting& w, const Op& op) {
        w.collective_bytes = op.bytes;
        w.kind = static_cast<u32>(op.collective);
        w.communicator = communicator_of(w.rank, w.node);
        const std::vector<u32>& nodes = entered_[w.rank][w.communicator];
        const auto number = std::find(nodes.begin(), nodes.end(), w.node) - nodes.begin();
        const Round& entered = round(w.communicator, static_cast<std::size_t>(number));
        for (const auto& [rank, node] : entered.kinds) {
            const Op& other = op_of(rank, node);
            if (kind_of(other) != kind_of(op)) {
                w.other_rank = rank;
                w.other_node = node;
                w.other_kind = static_cast<u32>(other.collective);
                w.other_bytes = other.bytes;
                w.is_cause = true;
                return;
            }
        }
        list_missing(w, entered.never, op.involved);
        w.is_cause = w.missing_count > 0;
        if (!w.is_cause) {
            list_missing(w, entered.not_yet, op.involved);
        }
        if (w.missing_count == 0) {
            explain_custom(w);
        }
    }

    void list_missing(Waiting& w, const std::vector<u32>& members, u64 involved) const {
        const u64 all = (u64{1} << grid_.dimensions()) - 1;
        if ((involved & all) == all) {
            w.missing_count = members.size();
            w.missing.assign(members.begin(),
                             members.begin() + static_cast<std::ptrdiff_t>(
                                                   std::min(members.size(), shown_at_most)));
            return;
        }
        for (u32 member : members) {
            if (takes_part(w.rank, member, involved)) {
                ++w.missing_count;
                if (w.missing.size() < shown_at_most) {
                    w.missing.push_back(member);
                }
            }
        }
    }

    bool has_one_to_come(u32 rank, u32 communicator) const {
        for (u32 node = 0; node < nodes_of(rank); ++node) {
            if (op_of(rank, node).kind == OpKind::collective &&
                communicator_of(rank, node) == communicator &&
                start_of(rank, node) == never) {
                return true;
            }
        }
        return false;
    }

    void explain_custom(Waiting& w) const {
        u32 first = none;
        const Transport::State& state = transport_.state();
        state.matcher.for_each_message(state.waiting(), [&](u32 flight) {
            if (state.flights[flight].waiting.side != Matcher::Side::receive) {
                return;
            }
            const Completion& waits = state.flights[flight].received;
            const Transport::Rendezvous* const send = transport_.send_behind(waits);
            const Completion then = send != nullptr ? send->then : waits;
            if (then.kind.owner() == Owner::custom && belongs(w, ChunkId(then.a)) && then.b < first) {
                first = then.b;
                w.sends = send != nullptr;
                w.inner_chunk = then.a;
            }
        });
        if (first == none) {
            return;
        }
        const Chunk& chunk = collectives_.chunks()[ChunkId(w.inner_chunk)];
        const Graph& graph = collectives_.custom().trace_of(chunk);
        w.inner_node = graph.id[first];
        w.inner_name = graph.name(first);
        const IntColumn& peer = w.sends ? graph.comm_dst : graph.comm_src;
        const RankId other =
            collectives_.custom().rank_named(chunk, static_cast<u32>(peer.value[first]));
        explain_message(w, other.index(), static_cast<u32>(graph.comm_tag.value[first] % tag_space),
                        collectives_.custom().bytes_of(chunk, first));
    }

    bool belongs(const Waiting& w, ChunkId chunk) const {
        const CollectiveInstance& of = collectives_.chunks().instance(collectives_.chunks()[chunk]);
        return of.actor.index() == w.rank && of.node.index() == w.node;
    }

    const Model& model_;
    const Grid& grid_;
    const Executor& executor_;
    const Transport& transport_;
    const Collectives& collectives_;
    std::vector<std::map<u32, std::vector<u32>>> entered_;
    std::map<std::pair<u32, std::size_t>, Round> rounds_;
};

}  // namespace

std::vector<Waiting> diagnose(const Model& model, const Grid& grid, const Executor& executor,
                              const Transport& transport, const Collectives& collectives) {
    return Diagnosis(model, grid, executor, transport, collectives).all();
}

std::vector<Unreceived> unreceived(const Transport& transport) {
    std::vector<Unreceived> messages;
    const Transport::State& state = transport.state();
    state.matcher.for_each_message(state.waiting(), [&](u32 flight) {
        const MatchKey key = state.flights[flight].waiting.key();
        if (state.flights[flight].waiting.side == Matcher::Side::send && key.tag < tag_space) {
            messages.push_back({key.src, key.dst, key.tag, key.bytes});
        }
    });
    std::sort(messages.begin(), messages.end(), [](const Unreceived& a, const Unreceived& b) {
        return std::tie(a.src, a.dst, a.tag, a.bytes) < std::tie(b.src, b.dst, b.tag, b.bytes);
    });
    return messages;
}

}  // namespace yantra
