#include "collective/exchange/exchange.hpp"

#include <limits>

#include "base/ensure.hpp"

namespace yantra {

using exchange::Packets;

Exchange::Exchange(const CollectiveParameters& parameters, const Semantics& semantics, const Actors& actors,
                   Engine& engine, Transport& transport, PeerTables& tables, SharedBus& bus, LocalBandwidth& local,
                   PhaseEnd& phases, PacketWatcher* watcher)
    : actors_(actors),
      engine_(engine),
      transport_(transport),
      tables_(tables),
      probe_(engine.recorder()),
      peers_(actors, engine, transport, tables, probe_),
      hand_overs_(parameters, semantics, engine, bus, local, watcher),
      single_(engine, transport, phases, watcher, probe_, peers_, hand_overs_),
      rounds_(actors, engine, transport, peers_, hand_overs_),
      in_step_(engine, transport, peers_, hand_overs_, single_, rounds_, watcher != nullptr),
      beginnings_(actors.count()) {}

void Exchange::join(ChunkId chunk, u32 node, u32 early) {
    Packets& x = peers_.made(chunk);
    x.started = none;
    x.early = early;
    x.node = node;
    for (u32 at = early; at != none; at = tables_.early(at).next) {
        probe_.receiver_joins(at, node);
    }
}

void Exchange::start(ChunkId chunk, const PhaseInput& start, const exchange::Beginning& beginning) {
    Packets& x = prepare(chunk, start);
    if (counts_arrivals(x.table) && !x.program->runs.empty()) {
        hand_overs_.know_reduction(x, 0);
        beginnings_.keep(beginning, x);
    }
    single_.start(chunk, x);
}

bool Exchange::start_alike(ChunkId chunk, const exchange::Beginning& beginning, const OfChunk& own) {
    const Packets* const begun = beginnings_.like(beginning);
    if (begun == nullptr) {
        return false;
    }
    Packets& x = peers_.of(chunk);
    const u32 early = x.early;
    const u32 node = x.node;
    x = *begun;
    x.early = early;
    x.node = node;
    x.table = own.table;
    x.tag = own.tag;
    x.number = own.number;
    x.near[0] = 0;
    x.near[1] = 0;
    peers_.find_chunk(x);
    peers_.open(chunk, x);
    single_.start(chunk, x);
    return true;
}

void Exchange::play_on(ChunkId chunk, const PhaseInput& start, const PhaseMoment& at) {
    Packets& x = prepare(chunk, start);
    ensure(counts_arrivals(x.table), "a phase of which it is not known where it is");
    auto under_way = at.under_way.begin();
    for (u64 number = 0; x.left > at.progress.left; ++number) {
        if (under_way != at.under_way.end() && under_way->number == number) {
            transport_.pass_on(x.message(), peers_.notice(x), under_way->since);
            ++under_way;
        } else {
            transport_.count(x.ranks);
        }
        peers_.went(x, x.send_at_once());
    }
    static_cast<exchange::Progress&>(x) = at.progress;
    for (u32 slot = 0; slot < at.waiting.size(); ++slot) {
        peers_.counter(x, slot) += at.waiting[slot];
    }
    for (const PhaseMoment::HandOver& of : at.handed_over) {
        hand_overs_.go_on(chunk, x, of.run, of.ticks, of.reduces);
    }
}

Packets& Exchange::prepare(ChunkId chunk, const PhaseInput& start) {
    Packets& x = peers_.made(chunk);
    const u32 early = x.early;
    const auto& program = std::get<ExchangeProgram>(start.program.machine);
    ensure(program.sends + program.window < std::numeric_limits<u32>::max(),
           "more packets in a phase than 32 bits count");
    x = {};
    static_cast<exchange::Progress&>(x) = exchange::Progress(program);
    x.early = early;
    x.actor = start.actor;
    x.rank = actors_.rank(start.actor).index();
    x.table = start.table;
    x.member = start.member;
    x.phase = start.phase;
    x.tag = start.tag;
    x.number = start.number;
    x.node = start.node;
    x.place = start.place;
    x.data = start.data;
    x.round_up = start.program.round_up;
    x.clockwise = start.clockwise;
    x.ranks = static_cast<u32>(actors_.ranks_of(start.actor));
    x.hand_over_ticks = hand_over_ticks(start.fixed_hand_over);
    x.by_bus = hand_overs_.cross_bus() && !start.fixed_hand_over;
    if (counts_arrivals(x.table)) {
        peers_.open(chunk, x);
    }
    peers_.find(x);
    return x;
}

}  // namespace yantra
