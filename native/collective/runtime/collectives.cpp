#include "collective/runtime/collectives.hpp"

#include <algorithm>
#include <type_traits>
#include <vector>

#include "base/ensure.hpp"
#include "transport/tags.hpp"

namespace yantra {

namespace {

constexpr bool is_plain = std::is_empty_v<Trail>;   // a recorded run notes when each chunk came
constexpr u64 most_expected = u64{1} << 16;   // chunks at once; beyond, arrays grow

// One collective at a time, in first-in, first-out queues.
bool keeps_turns(const SystemParameters& system, const Collectives::Options& options,
                 bool all_share_queues) {
    return options.one_at_a_time && (!all_share_queues || options.one_slot_kind) &&
           system.queues_per_dimension == 1 && system.active_chunks == 1 &&
           system.intra_dimension == IntraDimension::fifo && !options.match_by_tag;
}

}  // namespace

Collectives::Collectives(const CollectiveParameters& parameters, const Semantics& semantics,
                         const Grid& grid, const Actors& actors, Engine& engine,
                         Transport& transport, SharedBus& bus, LocalBandwidth& local,
                         Completions& completions, const Options& options)
    : parameters_(parameters),
      semantics_(semantics),
      actors_(actors),
      engine_(engine),
      completions_(completions),
      options_(options),
      planner_(parameters, semantics, grid, actors),
      tables_(actors.communicator_classes()),
      queues_(parameters, semantics, actors, engine, chunks_, options.watcher),
      exchange_(parameters, semantics, actors, engine, transport, tables_, bus, local, *this,
                options.watcher),
      graph_(parameters, semantics, actors, engine, transport, bus, local, *this,
             options.pairs_in_order),
      custom_(parameters, semantics, actors, engine, transport, local, chunks_, *this),
      probe_(engine.recorder()),
      shapes_(chunks_, !semantics.quirks.mismatched_collectives_meet),
      series_(parameters, planner_, actors.count()),
      keeps_turns_(!semantics.quirks.phases_as_ready &&
                   keeps_turns(parameters.system, options, false)),
      makes_at_turn_(is_plain && options.times == nullptr && options.watcher == nullptr &&
                     keeps_turns(parameters.system, options, semantics.quirks.phases_as_ready)) {
    state_.next_priority.resize(actors.count());
    if (!parameters.plans.empty()) {
        const u64 chunks = std::min<u64>(u64{actors.count()} * parameters.system.chunks, most_expected);
        chunks_.expect(chunks);
        exchange_.expect(chunks);
    }
}

void Collectives::start(const CollectiveRequest& request) {
    probe_.collective_starts(
        request.place, actors_.communicator_class(request.actor, request.communicator),
        planner_.chunks_made(request.actor, request.communicator));
    const i64 priority = take_priority(request);
    if (options_.watcher != nullptr) [[unlikely]] {
        options_.watcher->collective_starts(request.actor, request.communicator);
    }
    const std::size_t kind = static_cast<std::size_t>(request.kind);
    const u32 plan_index = parameters_.layout_of(request.communicator).plan_of(
        kind, request.bytes, involves_some(parameters_, request.involved));
    const Plan& plan = parameters_.plans[plan_index];
    planner_.collective_starts(request.actor, request.communicator, plan, engine_.now());
    Entry entry;
    entry.plan = plan_index;
    entry.custom = request.custom != none ? request.custom : plan.custom;
    entry.priority = priority;
    if (entry.custom != none) {
        enter(request, entry);
        const Phase only;
        make_chunk(entry, {&only, 1});
        return;
    }
    const bool at_once = options_.times != nullptr && keeps_turns_ && has_own_queue(plan);
    if (at_once) {
        if (const Series::Known* const known = series_.known(request, plan_index)) {
            u64& made = planner_.chunks_made(request.actor, request.communicator);
            const u64 after = made + 1 + known->more.size();
            enter(request, entry);
            make_chunk(entry, {&known->phase, 1}, known->more);
            made = after;
            return;
        }
    }
    const bool does_something =
        at_once ? cut_at_once(request, entry)
        : makes_at_turn_ && has_own_queue(plan)
            ? cut_in_turns(request, entry)
            : planner_.cut(request, plan, [&](const std::vector<Phase>& phases) {
                  enter(request, entry);
                  make_chunk(entry, phases, {}, planner_.planned());
              });
    if (planner_.overdrawn()) {
        enter(request, entry);
        chunks_.never_ends(entry.instance);
    }
    if (!does_something) {
        engine_.of_ranks.schedule(request.actor, 0, request.then.kind, request.then.b);
    }
}

inline void Collectives::enter(const CollectiveRequest& request, Entry& entry) {
    if (entry.instance != none) {
        return;
    }
    entry.instance = chunks_.enter();
    CollectiveInstance& instance = chunks_.entered(entry.instance);
    instance.then.kind = request.then.kind;
    instance.then.a = request.then.a;
    instance.then.b = request.then.b;
    instance.actor = request.actor;
    instance.node = request.node;
    instance.place = request.place;
    instance.communicator = request.communicator;
    instance.bytes = request.bytes;
    entry.first_chunk = parameters_.communicators[request.communicator].first_chunk;
    entry.made = &planner_.chunks_made(request.actor, request.communicator);
    if (entry.custom != none || options_.match_by_tag) {
        return;
    }
    entry.of_class = actors_.communicator_class(request.actor, request.communicator);
    entry.members = actors_.members(entry.of_class, parameters_.plans[entry.plan].communicator_size);
    entry.member = actors_.member(entry.of_class, request.actor, [&] {
        return planner_.member_of(entry.plan, request.communicator, request.actor);
    });
}

i64 Collectives::take_priority(const CollectiveRequest& request) {
    if (parameters_.system.priority == Priority::given) {
        return request.priority;
    }
    i64& next = state_.next_priority[request.actor];
    return parameters_.system.priority == Priority::lifo ? next++ : next--;
}

// Queues are unlimited.
void Collectives::make_chunk(const Entry& entry, std::span<const Phase> phases, std::span<const u64> more,
                             u64 planned, u8 later) {
    const ChunkId chunk = chunks_.make(entry.instance, phases, later);
    Chunk& c = chunks_[chunk];
    c.id = entry.first_chunk + (*entry.made)++;
    c.priority = entry.priority;
    c.plan = entry.plan;
    c.custom = entry.custom;
    if (entry.of_class != none) {
        join_table(chunk, entry, shapes_.of(c, planned));
    }
    if (!more.empty()) {
        options_.times->stands_for(chunk, more);
    }
    begin(chunk);
}

[[gnu::always_inline]] inline void Collectives::join_table(ChunkId chunk, const Entry& entry,
                                                                std::span<const PhaseShape> shapes) {
    Chunk& c = chunks_[chunk];
    ChunkId other;
    c.table = tables_.find(entry.of_class, c.id - entry.first_chunk, shapes, entry.members, other);
    if (!other.is_none() && !state_.mismatch) {
        const CollectiveInstance& here = chunks_.instance(c);
        const CollectiveInstance& there = chunks_.instance(chunks_[other]);
        state_.mismatch = {here.actor, here.node, there.actor, there.node};
        if (semantics_.quirks.mismatched_collectives_meet) {
            engine_.pause();   // it starts again with tags
        }
    }
    c.member = entry.member;
    exchange_.join(chunk, chunks_.instance(c).place, tables_.join(c.table, c.member, chunk));
}

inline void Collectives::begin(ChunkId chunk) {
    Chunk& c = chunks_[chunk];
    const ActorId actor = c.actor;
    if (options_.watcher != nullptr) [[unlikely]] {
        options_.watcher->actor_changes(actor);
    }
    c.phase = c.first_phase;
    const u32 queue = chunks_.phase_of(c).queue;
    c.queue = queue;
    queues_.enter(chunk);
    start_queue(actor, queue);
}

// The collective's completion, and all it starts, comes before the chunk leaves its queue; its old
// place is refilled before it starts in the new queue.
void Collectives::proceed(ChunkId chunk) {
    const ActorId actor = chunks_[chunk].actor;
    const u32 old_queue = chunks_[chunk].queue;
    const u32 phase = chunks_[chunk].phase + 1;
    const bool ended = phase == chunks_[chunk].end_phase;
    if (options_.watcher != nullptr) [[unlikely]] {
        options_.watcher->actor_changes(actor);
    }
    if (ended) {
        if (chunks_[chunk].later > 0) {
            take_turn(chunk);
            start_phase(chunk);
            return;
        }
        instance_advances(chunks_[chunk].instance);
        queues_.leave(actor, old_queue, chunk);
        queues_.place_free(actor, old_queue);
        start_queue(actor, old_queue);
        end(chunk);
        return;
    }
    queues_.leave(actor, old_queue, chunk);
    Chunk& c = chunks_[chunk];
    c.phase = phase;
    c.queue = chunks_.phase(phase).queue;
    c.started = false;
    const u32 queue = c.queue;
    queues_.enter(chunk);
    queues_.place_free(actor, old_queue);
    start_queue(actor, old_queue);
    start_queue(actor, queue);
}

u32 Collectives::tag_of(const Chunk& c) const {
    const bool by_number = c.table == none || semantics_.quirks.mismatched_collectives_meet;
    return static_cast<u32>((by_number ? c.id : c.table) % tag_space) + tag_space;
}

inline void Collectives::end(ChunkId chunk) {
    const Chunk& c = chunks_[chunk];
    if (c.table != none) {
        tables_.leave(c.table, c.member);
    }
    chunks_.give_back(chunk);
}

[[gnu::always_inline]] inline void Collectives::instance_advances(u32 instance) {
    const Recorder::Scope scope(engine_.recorder());
    probe_.chunk_ends(instance, chunks_, engine_.now());
    Completion then;
    if (chunks_.chunk_ends(instance, then)) {
        completions_.completed(then);
    }
}

inline void Collectives::start_queue(ActorId actor, u32 queue) {
    if (queues_.may_start(actor, queue)) {
        start_waiting(actor, queue);
    }
}

// Precondition: one may start.
void Collectives::start_waiting(ActorId actor, u32 queue) {
    do {
        const ChunkId chunk = queues_.next(actor, queue);
        if (chunk.is_none()) {
            return;
        }
        const Recorder::Scope scope(engine_.recorder());
        queues_.starts(actor, queue, chunk);
        start_phase(chunk);
        queues_.has_started(actor, queue);
    } while (queues_.may_start(actor, queue));
}

[[gnu::always_inline]] inline void Collectives::start_phase(ChunkId chunk) {
    const Chunk& c = chunks_[chunk];
    if (c.custom != none) {
        custom_.start(chunk);
        return;
    }
    const Phase& phase = chunks_.phase_of(c);
    if (phase.idle) {
        engine_.of_ranks.schedule(c.actor, 0, {Owner::collectives, phase_done}, chunk.index());
        return;
    }
    const Program& program = parameters_.programs[phase.program];
    const exchange::Beginning beginning{&program, phase.data, c.actor, c.plan, phase.level, c.communicator,
                                        Chunks::phase_number(c), phase.clockwise, phase.fixed_hand_over};
    if (options_.times == nullptr && c.table != none &&
        exchange_.start_alike(chunk, beginning, {c.table, tag_of(c), c.id})) {
        return;
    }
    if (const auto* timed = std::get_if<TimedProgram>(&program.machine)) {
        start_timed(chunk, *timed);
        return;
    }
    const PhaseInput input = input_of(chunk);
    if (!std::holds_alternative<ExchangeProgram>(program.machine)) {
        graph_.start(chunk, input);
        return;
    }
    if (options_.times != nullptr && exchange_.counts_arrivals(c.table)) [[unlikely]] {
        if (const auto ends = options_.times->ends(input, chunk)) {
            for (const KnownEnd& end : *ends) {
                engine_.of_ranks.schedule(end.actor, end.ticks, {Owner::collectives, phase_done}, end.chunk.index());
            }
            return;
        }
    }
    exchange_.start(chunk, input, beginning);
}

PhaseInput Collectives::input_of(ChunkId chunk) const {
    const Chunk& c = chunks_[chunk];
    PhaseInput input = planner_.input_of(chunks_.phase_of(c), c.actor, c.plan, c.communicator);
    input.table = c.table;
    input.member = c.member;
    input.phase = Chunks::phase_number(c);
    input.tag = tag_of(c);
    input.number = c.id;
    input.node = chunks_.instance(c).place;
    return input;
}

// The last member knows when.
void Collectives::start_timed(ChunkId chunk, const TimedProgram& program) {
    const Chunk& c = chunks_[chunk];
    ensure(c.table != none, "a collective of known time among members that do not know each other");
    const u64 ticks = program.ticks(chunks_.phase_of(c).data);
    for (const ChunkId member : tables_.arrive(c.table)) {
        probe_.time_begins(member, chunks_.instance(c).place);
        engine_.of_ranks.schedule(chunks_[member].actor, ticks, {Owner::collectives, timed_done},
                                  member.index());
    }
}

void Collectives::handle_of_actor(ActorId, const RankEvent& event) {
    const ChunkId chunk(event.a);
    if (event.kind.kind() == timed_done) {
        probe_.time_is_over(event, engine_.now());
    } else if (options_.times != nullptr && options_.times->is_void(chunk)) {
        return;
    } else {
        if (options_.times != nullptr && options_.times->ends_all(chunk) && chunks_[chunk].later > 0) {
            chunks_.passes_turns(chunk);
        }
        probe_.phase_done(event, engine_.now(), chunks_.instance(chunks_[chunk]).place);
    }
    proceed(chunk);
}

}  // namespace yantra
