// A field that nobody hands to the visitors breaks a law here; a state that is moved on looks the
// same.
// needs: the parts of a run
#include "engine/state.hpp"

#include <array>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "collective/runtime/state.hpp"
#include "execution/state.hpp"
#include "fold/shortcuts/state_visitors.hpp"
#include "model/test.hpp"
#include "run/simulation.hpp"
#include "transport/state.hpp"

namespace {

using namespace yantra;
using test::check;

class Checklist {
public:
    bool possible() const { return true; }
    void must(bool) {}
    void word(u64) {}
    template <class T> void fixed(const T& x) { note(x); }
    template <class T> void scratch(const T& x) { note(x); }
    template <class T> void elsewhere(const T& x) { note(x); }
    template <class T> void must_be_empty(const T& x) { note(x); }
    template <class T> void same(const T& x) { note(x); }
    template <class T> void all_same(const T& x) { note(x); }
    template <class T> void node(ActorId, const T& x) { note(x); }
    template <class T> void place(ActorId, const T& x) { note(x); }
    template <class T> void nodes(ActorId, const T& x) { note(x); }
    template <class T> void chunk_number(u32, const T& x) { note(x); }
    template <class T> void table_number(u32, u32, const T& x) { note(x); }
    template <class T> void priority(ActorId, const T& x) { note(x); }
    template <class T> void tag(const T& x) { note(x); }
    template <class T> void count(const T& x) { note(x); }
    template <class T> void count(const T& x, u64) { note(x); }
    template <class T> void chunks_made(ActorId, const T& x, u64) { note(x); }
    bool comes_to_flight(u32) { return true; }
    bool comes_to_instance(u32) { return true; }
    bool comes_to_table(u32) { return true; }
    template <class T, class Visit>
    void each(std::vector<T>& items, Visit&& visit) {
        note(items);
        for (T& item : items) {
            visit(item);
        }
    }
    template <class T, class Visit>
    void each(IdVector<ActorId, T>& items, Visit&& visit) {
        note(items);
        for (u32 at = 0; at < items.size(); ++at) {
            visit(ActorId(at), items[ActorId(at)]);
        }
    }
    template <class Visit>
    void each(ChunkLine& items, Visit&& visit) {
        note(items);
        for (ChunkId item : items) {
            visit(item);
        }
    }
    template <class Visit>
    void each_membership(Visit&&) {}

    template <class T>
    void has_all(const char* name, const T& object, std::size_t completions = 0,
                 std::size_t waiting = 0) {
        const char* const begin = reinterpret_cast<const char*>(&object);
        const auto first = seen_.lower_bound(begin);
        const auto last = seen_.lower_bound(begin + sizeof(T));
        const auto found = static_cast<std::size_t>(std::distance(first, last));
        const std::size_t fields = fields_of<T>() + completions * (fields_of<Completion>() - 1) +
                                   waiting * (fields_of<Matcher::Waiting>() - 1);
        check(found == fields, (std::string("not all fields are visited: ") + name).c_str(), found);
        ++checked_[name];
    }
    void saw(const char* name) { ++checked_[name]; }
    void forget() { seen_.clear(); }
    u64 checked(const std::string& name) const {
        const auto found = checked_.find(name);
        return found == checked_.end() ? 0 : found->second;
    }

private:
    template <class T>
    void note(const T& x) {
        seen_.insert(reinterpret_cast<const char*>(&x));
    }

    std::set<const char*> seen_;
    std::map<std::string, u64> checked_;
};

struct Empty {};
struct Inner {
    u32 a = 0;
    u64 b = 1;
};
struct Outer {
    Inner inner;
    std::vector<Inner> items;
    std::optional<Inner> maybe;
    std::optional<u32> number;
    IdVector<ActorId, u32> by_actor;
    ActorId actor;
    std::array<u32, 3> three{};
    EventKind kind;
    bool last = false;
};

void fields_are_counted() {
    check(fields_of<Empty>() == 0 && fields_of<Inner>() == 2, "fields of a small struct", 0);
    check(fields_of<Outer>() == 9, "fields of a struct of structs", fields_of<Outer>());
}

class SameTimes final : public PhaseTimes {
public:
    std::optional<std::span<const KnownEnd>> ends(const PhaseInput& input, ChunkId chunk) override {
        end_ = {input.actor, chunk, 5000};
        return std::span<const KnownEnd>(&end_, 1);
    }
    u64 most_alike(const PhaseInput&) override { return 0; }
    void stands_for(ChunkId, std::span<const u64>) override {}
    bool is_void(ChunkId) override { return false; }

private:
    KnownEnd end_{ActorId(0), ChunkId(0), 0};
};

Model any_model(bool phases_as_ready) {
    std::vector<std::shared_ptr<const Job>> jobs;
    for (u32 rank = 0; rank < 4; ++rank) {
        const bool even = rank % 2 == 0;
        jobs.push_back(test::job_of({{test::timed(1, 1 + 3000 * rank), {}},
                                     {test::collective(CollectiveKind::all_reduce, 4000), {0}},
                                     {test::message(even, rank ^ 1, 100, 3),
                                      even ? std::vector<u32>{} : std::vector<u32>{1}},
                                     {test::timed(1, 50), {0}},
                                     {test::timed(1, 7000), {0}},
                                     {test::collective(CollectiveKind::all_reduce, 800), {3}}}));
    }
    Model model = test::model_of({{Block::ring, 2, 1.0, 10.0, 1.0}, {Block::ring, 2, 2.0, 5.0, 1.0}}, jobs);
    model.collectives.system.chunks = 4;
    model.collectives.system.active_chunks = 2;
    model.semantics.quirks.phases_as_ready = phases_as_ready;
    for (Level& level : model.collectives.plans[0].levels) {
        level.alternation = 0;
        level.alternate = level.program;
    }
    return model;
}

void check_fields(Checklist& list, Simulation& run, const Model& model) {
    list.forget();
    Collectives& collectives = run.collectives();
    visit_state(list, run.executor().state());
    visit_state(list, collectives, model.collectives, model.semantics.quirks.phases_as_ready);
    visit_state(list, run.transport().state());
    list.has_all("Nodes::State", run.executor().state());
    for (Nodes::OfActor& of : run.executor().state().actors) {
        list.has_all("Nodes::OfActor", of);
    }
    list.has_all("Collectives::State", collectives.state());
    for (Planner::OfActor& of : collectives.planner().state().actors) {
        list.has_all("Planner::OfActor", of);
        for (Planner::RoundRobin& robin : of.robin) {
            list.has_all("Planner::RoundRobin", robin);
        }
        for (Planner::AlternationCount& count : of.alternations) {
            list.has_all("Planner::AlternationCount", count);
        }
    }
    list.has_all("ChunkQueues::State", collectives.queues().state());
    list.has_all("Transport::State", run.transport().state());
}

void check_chunks(Checklist& list, Collectives& collectives) {
    for (std::vector<ChunkQueues::Queue>& queues : collectives.queues().state().queues) {
        for (ChunkQueues::Queue& queue : queues) {
            if (queue.chunks.empty()) {
                continue;
            }
            list.has_all("ChunkQueues::Queue", queue);
            for (ChunkId id : queue.chunks) {
                const Chunk& chunk = collectives.chunks()[id];
                list.has_all("Chunk", chunk);
                list.has_all("CollectiveInstance", collectives.chunks().instance(chunk), 1);
                list.has_all("Completion", collectives.chunks().instance(chunk).then);
                list.has_all("PeerTables::Table", collectives.tables().state().tables[chunk.table]);
                for (u32 at = chunk.first_phase; at < chunk.end_phase; ++at) {
                    list.has_all("Phase", collectives.chunks().phase(at));
                }
            }
        }
    }
}

void check_orders_and_flights(Checklist& list, Simulation& run, const Model& model) {
    if (!model.semantics.quirks.phases_as_ready) {
        for (std::vector<ChunkQueues::PhaseOrder>& orders :
             run.collectives().queues().state().orders) {
            for (ChunkQueues::PhaseOrder& order : orders) {
                list.has_all("ChunkQueues::PhaseOrder", order);
                for (ChunkQueues::PhaseStart& start : order.coming) {
                    list.has_all("ChunkQueues::PhaseStart", start);
                }
            }
        }
    }
    Transport::State& state = run.transport().state();
    state.matcher.for_each_message(state.waiting(), [&](u32 at) {
        const Transport::Flight& flight = state.flights[at];
        if (flight.waiting.side == Matcher::Side::send) {
            list.has_all("Matcher::Waiting", flight.waiting);
            list.has_all("Transport::Flight", flight, 2, 1);
        }
    });
}

ActorClasses own_classes(u32 ranks) {
    ActorClasses classes;
    classes.communicator_classes.resize(1);
    for (u32 rank = 0; rank < ranks; ++rank) {
        classes.class_of.push_back(rank);
        classes.representative.push_back(rank);
        classes.count.push_back(1);
        classes.memberships.push_back({{0, 0}});
        classes.communicator_classes[0].push_back(rank);
    }
    return classes;
}

template <class Visitor>
void visit(Visitor& v, Simulation& run, const Model& model) {
    visit_state(v, run.executor().state());
    visit_state(v, run.collectives(), model.collectives, model.semantics.quirks.phases_as_ready);
    visit_state(v, run.transport().state());
}

void move(Simulation& run, const Model& model, const ActorClasses& classes, Origins& origins, u32 by) {
    const u32 actors = static_cast<u32>(classes.representative.size());
    const std::vector<u64> counts(1000);
    const auto further = static_cast<i32>(by);
    const Moves moves{.nodes = IdVector<ActorId, u32>(actors, by),
                      .priority = IdVector<ActorId, i64>(actors, further),
                      .chunks = {static_cast<u64>(further)},
                      .tags = by,
                      .before = counts,
                      .after = counts};
    StateMover mover(classes, moves);
    visit(mover, run, model);
    for (const auto& [table, chunks] : mover.tables) {
        run.collectives().tables().state().tables[table].number += chunks;
    }
    for (u32 at = 0; at < actors; ++at) {
        origins.nodes_done[ActorId(at)] += by;
        origins.next_priority[ActorId(at)] += further;
    }
    origins.chunks_made[0] += moves.chunks[0];
}

void a_state_that_moves_looks_the_same(Simulation& run, const Model& model, u64 step) {
    const ActorClasses classes = own_classes(4);
    Origins origins{IdVector<ActorId, u64>(4), IdVector<ActorId, i64>(4), {0}};
    StateWriter before(classes, origins);
    visit(before, run, model);
    check(before.possible(), "a moment without packets is not described", step);
    for (u32 by : {0u, 7u, 0u - 7u}) {
        move(run, model, classes, origins, by);
        StateWriter after(classes, origins);
        visit(after, run, model);
        check(after.words == before.words, "a state that was moved looks different", step);
        check(after.counts == before.counts, "what counts was moved, too", step);
        for (u32 at = 0; at < before.tags.size(); ++at) {
            check(after.tags[at] == before.tags[at] + (by == 7 ? 7 : 0), "a tag was not moved", step);
        }
    }
}

// What is written of a moment.
struct Written {
    bool possible = false;
    std::vector<u64> words, counts;
    std::vector<u32> tags;
    bool operator==(const Written&) const = default;
};

Written write(Simulation& run, const Model& model) {
    const ActorClasses classes = own_classes(4);
    const Origins origins{IdVector<ActorId, u64>(4), IdVector<ActorId, i64>(4), {0, 0}};   // 1 may be touched
    StateWriter writer(classes, origins);
    visit(writer, run, model);
    return {writer.possible(), writer.words, writer.counts, writer.tags};
}

class Toucher : public StateVisitor<Toucher> {
public:
    enum class Shows { nowhere, in_words, in_counts, in_both, in_tags };

    Toucher(const ActorClasses& classes, u64 after) : StateVisitor(classes), left_(after) {}

    bool possible() const { return true; }
    void must(bool) {}
    void word(u64) {}
    template <class T>
    void must_be_empty(const T&) {}
    template <class T>
    void same(T& value) {
        touch(value, Shows::in_words);
    }
    void all_same(std::vector<u32>& values) {
        for (u32& value : values) {
            touch(value, Shows::in_words);
        }
    }
    template <class T>
    void node(ActorId, T& node) {
        touch(node, Shows::in_words);
    }
    void place(ActorId, u32& place) { touch(place, Shows::nowhere); }
    void nodes(ActorId, ReadySet& ready) {
        if (!ready.empty() && is_it()) {
            ready.move_on(1);
            undo = [&ready] { ready.move_on(0u - 1u); };
            shows = Shows::in_words;
        }
    }
    void chunk_number(u32, u64& number) { touch(number, Shows::in_words); }
    void table_number(u32, u32, u64& number) { touch(number, Shows::in_words); }
    void priority(ActorId, i64& priority) { touch(priority, Shows::in_words); }
    void tag(u32& tag) { touch(tag, Shows::in_tags); }
    template <class T>
    void count(T& value) {
        touch(value, Shows::in_counts);
    }
    template <class T>
    void count(T& value, u64) {
        touch(value, Shows::in_both);
    }
    bool comes_to_flight(u32 at) { return flights_.insert(at).second; }
    bool comes_to_instance(u32 at) { return instances_.insert(at).second; }
    bool comes_to_table(u32 at) { return tables_.insert(at).second; }

    std::optional<Shows> shows;   // none: so many are not handed over
    std::function<void()> undo;

private:
    bool is_it() { return left_-- == 0; }
    template <class T>
    void touch(T& value, Shows where) {
        if constexpr (requires { value.packed(); }) {
            if (value.is_none()) {
                return;   // another would be a field of another meaning, too
            }
        }
        if (!is_it()) {
            return;
        }
        shows = where;
        undo = [&value, old = value] { value = old; };
        if constexpr (requires { value.packed(); }) {
            value = T(value.owner(), value.kind() + 1);
        } else if constexpr (requires { value.index(); }) {
            value = T(value.index() + 1);
        } else if constexpr (std::is_same_v<T, bool>) {
            value = !value;
        } else {
            value = static_cast<T>(static_cast<u64>(value) + 1);
        }
    }

    u64 left_;
    std::set<u32> flights_, instances_, tables_;
};

void every_value_shows(Simulation& run, const Model& model, u64 step) {
    const ActorClasses classes = own_classes(4);
    const Written before = write(run, model);
    for (u64 at = 0;; ++at) {
        Toucher toucher(classes, at);
        visit(toucher, run, model);
        if (!toucher.shows) {
            check(at > 50, "few values are handed over", at);
            return;
        }
        using Shows = Toucher::Shows;
        const Shows shows = *toucher.shows;
        const Written after = write(run, model);
        check(after.possible == before.possible, "a value makes a moment impossible", step);
        check((after.words != before.words) == (shows == Shows::in_words || shows == Shows::in_both),
              "a value that decides something is not written, or one that does not is", at);
        check((after.counts != before.counts) == (shows == Shows::in_counts || shows == Shows::in_both),
              "a count is not written", at);
        check((after.tags != before.tags) == (shows == Shows::in_tags), "a tag is not written", at);
        toucher.undo();
        check(write(run, model) == before, "a value that was changed and changed back", at);
    }
}

template <class T>
void shows(const char* what, T& value, T changed, Simulation& run, const Model& model) {
    const Written before = write(run, model);
    std::swap(value, changed);
    check(write(run, model) != before, what, 0);
    std::swap(value, changed);
}

template <class T>
void is_impossible(const char* what, T& value, T changed, Simulation& run, const Model& model) {
    std::swap(value, changed);
    check(!write(run, model).possible, what, 0);
    std::swap(value, changed);
}

template <class T>
void shows_nothing(const char* what, T& value, T changed, Simulation& run, const Model& model) {
    const Written before = write(run, model);
    std::swap(value, changed);
    check(write(run, model) == before, what, 0);
    std::swap(value, changed);
}

void where_phases_lie_does_not_show(Checklist& list, Simulation& run, const Model& model, Chunk& chunk) {
    auto& phases = run.collectives().chunks().state().phases;
    const std::vector<Phase> own(phases.begin() + chunk.first_phase,
                                 phases.begin() + chunk.end_phase + chunk.later);
    const u32 further = static_cast<u32>(phases.size()) - chunk.first_phase;
    phases.insert(phases.end(), own.begin(), own.end());
    const Chunk old = chunk;
    Chunk moved = chunk;
    moved.first_phase += further;
    moved.end_phase += further;
    moved.phase += further;
    const Written before = write(run, model);
    chunk = moved;
    check(write(run, model) == before, "where phases lie is told", further);
    --chunk.end_phase;
    ++chunk.later;
    check(write(run, model) != before, "that a phase is that of a chunk behind this one does not show", further);
    chunk = old;
    phases.resize(phases.size() - own.size());
    list.saw("phases moved");
}

void what_follows_from_several_shows(Checklist& list, Simulation& run, const Model& model) {
    Collectives& collectives = run.collectives();
    PeerTables::State& tables = collectives.tables().state();
    for (std::vector<ChunkQueues::Queue>& of : collectives.queues().state().queues) {
        for (std::size_t at = 1; at < of.size(); ++at) {
            if (of[at].chunks.empty() != of[at - 1].chunks.empty()) {
                const Written before = write(run, model);
                std::swap(of[at].chunks, of[at - 1].chunks);
                std::swap(of[at].running, of[at - 1].running);
                check(write(run, model) != before, "in which queue chunks wait does not show", at);
                std::swap(of[at].chunks, of[at - 1].chunks);
                std::swap(of[at].running, of[at - 1].running);
                list.saw("queues swapped");
            }
        }
        for (ChunkQueues::Queue& queue : of) {
            if (!model.semantics.quirks.phases_as_ready) {
                shows("how far a member is does not show", queue.next_start, queue.next_start + 1, run, model);
            }
            for (ChunkId id : queue.chunks) {
                Chunk& chunk = collectives.chunks()[id];
                PeerTables::Table& table = tables.tables[chunk.table];
                const std::vector<u32> nobody(table.chunk.size(), none);
                std::vector<u32> somebody = nobody;
                somebody.back() = 0;
                shows("the phase of a chunk does not show", chunk.phase, chunk.phase + 1, run, model);
                is_impossible("a table of the same number", table.next, 0u, run, model);
                is_impossible("an early arrival", table.early, somebody, run, model);
                shows_nothing("early arrivals that were", table.early, nobody, run, model);
                is_impossible("a chunk of a collective given by traces", chunk.custom, 0u, run, model);
                is_impossible("a chunk without a table", chunk.table, none, run, model);
                for (ChunkId& member : table.chunk) {
                    shows("who has joined does not show", member, member.is_none() ? id : ChunkId::none, run,
                          model);
                }
                where_phases_lie_does_not_show(list, run, model, chunk);
            }
        }
    }
    for (std::vector<ChunkQueues::PhaseOrder>& orders : collectives.queues().state().orders) {
        for (ChunkQueues::PhaseOrder& order : orders) {
            if (!model.semantics.quirks.phases_as_ready) {
                shows("how far all are does not show", order.passed, order.passed + 1, run, model);
            }
        }
    }
    std::optional<MismatchedNodes>& mismatch = collectives.state().mismatch;
    is_impossible("a mismatch", mismatch, std::optional<MismatchedNodes>(MismatchedNodes{}), run, model);
    for (Nodes::OfActor& of : run.executor().state().actors) {
        is_impossible("nodes that were freed", of.freed, {NodeId(0)}, run, model);
    }
}

void what_flights_need_shows(Checklist& list, Simulation& run, const Model& model) {
    Transport::State& state = run.transport().state();
    std::vector<u32> sent;
    state.matcher.for_each_message(state.waiting(), [&](u32 at) {
        if (state.flights[at].waiting.side == Matcher::Side::send) {
            sent.push_back(at);
        }
    });
    for (u32 at : sent) {
        Transport::Flight& flight = state.flights[at];
        const Completion of_node{EventKind(Owner::execution, 0), 1, 2};
        const Completion of_chunk{EventKind(Owner::collectives, 0), 1, 2};
        for (Completion Transport::Flight::*which : {&Transport::Flight::sent, &Transport::Flight::received}) {
            Completion& then = flight.*which;
            is_impossible("a message of a chunk", then, of_chunk, run, model);
            shows("for whom a message is does not show", then, then.kind.is_none() ? of_node : Completion{},
                  run, model);
        }
        const Completion received = std::exchange(flight.received, {});
        is_impossible("a message for nobody", flight.sent, {}, run, model);
        flight.received = received;
        list.saw("flights");
    }
}

void ready_nodes_are_written_in_order() {
    const ActorClasses classes = own_classes(2);
    const Origins origins{IdVector<ActorId, u64>(2, 10), IdVector<ActorId, i64>(2), {0}};
    const u64 second = u64{1} << 32U;   // actor
    for (const std::vector<u32>& came :
         {std::vector<u32>{10, 11, 12}, {11, 12, 10}, {12, 11, 10}}) {
        ReadySet ready(2);
        for (u32 node : came) {
            ready.insert(node == 11, node);
        }
        StateWriter writer(classes, origins);
        writer.nodes(ActorId(0), ready);
        check(writer.words == std::vector<u64>{3, 0, 1, 2}, "ready nodes are written otherwise", came[0]);
        writer.words.clear();
        writer.nodes(ActorId(1), ready);
        check(writer.words == std::vector<u64>{3, second, second + 1, second + 2}, "of another actor", came[0]);
    }
}

void each_number_moves_by_its_own_step() {
    ActorClasses classes = own_classes(2);
    classes.memberships = {{{7, 1}}, {{8, 0}, {9, 1}}};
    const std::vector<u64> counts;
    Moves moves{.nodes = IdVector<ActorId, u32>(2), .priority = IdVector<ActorId, i64>(2),
                .chunks = {1000, 2000}, .tags = 5, .before = counts, .after = counts};
    for (u32 at = 0; at < 2; ++at) {
        moves.nodes[ActorId(at)] = 10 + at;
        moves.priority[ActorId(at)] = -100 - static_cast<i64>(at);
    }
    StateMover mover(classes, moves);
    for (u32 at = 0; at < 2; ++at) {
        u32 node = 1, place = 2, tag = 3;
        NodeId id(4);
        u64 number = 5;
        i64 priority = 6;
        mover.node(ActorId(at), node);
        mover.node(ActorId(at), id);
        mover.place(ActorId(at), place);
        mover.priority(ActorId(at), priority);
        mover.chunk_number(at, number);
        mover.tag(tag);
        check(node == 11 + at && id.index() == 14 + at && place == 12 + at, "nodes and places", at);
        check(number == 1005 + 1000 * u64{at} && tag == 8, "numbers of chunks and tags", at);
        check(priority == -94 - static_cast<i64>(at), "priorities", at);
    }
    std::vector<std::array<u32, 3>> seen;
    mover.each_membership([&](ActorId actor, u32 communicator, u32 of_class) {
        seen.push_back({actor.index(), communicator, of_class});
    });
    const std::vector<std::array<u32, 3>> all{{0, 7, 1}, {1, 8, 0}, {1, 9, 1}};
    check(seen == all, "another actor is in a communicator", 0);
}

void counts_are_repeated(Simulation& run, const Model& model, u64 step) {
    const ActorClasses classes = own_classes(4);
    const Written now = write(run, model);
    std::vector<u64> before(now.counts.size());
    std::vector<u64> after(now.counts.size());
    for (std::size_t at = 0; at < after.size(); ++at) {
        before[at] = at;
        after[at] = 4 * at;
    }
    const auto move_by = [&](const std::vector<u64>& from, const std::vector<u64>& to) {
        const Moves moves{.nodes = IdVector<ActorId, u32>(4, 0), .priority = IdVector<ActorId, i64>(4, 0),
                          .chunks = {0}, .tags = 0, .before = from, .after = to, .times = 5};
        StateMover mover(classes, moves);
        visit(mover, run, model);
        check(mover.counted() == now.counts.size(), "not as much is moved as is written", step);
    };
    move_by(before, after);
    const Written then = write(run, model);
    for (std::size_t at = 0; at < after.size(); ++at) {
        check(static_cast<u32>(then.counts[at]) == static_cast<u32>(now.counts[at] + 15 * at),
              "what was counted is not repeated", at);
    }
    move_by(after, before);
    check(write(run, model) == now, "what was repeated and taken back", step);
}

void go_through_a_run(Checklist& list, bool phases_as_ready) {
    const Model model = any_model(phases_as_ready);
    SameTimes times;
    Cast cast;
    cast.times = &times;
    Simulation run(model, false, cast);
    run.start();
    for (u64 step = 0; !run.over(); ++step) {
        run.step();
        if (run.engine().queue.tick_is_over()) {
            check_fields(list, run, model);
            check_chunks(list, run.collectives());
            check_orders_and_flights(list, run, model);
            a_state_that_moves_looks_the_same(run, model, step);
            every_value_shows(run, model, step);
            what_follows_from_several_shows(list, run, model);
            what_flights_need_shows(list, run, model);
            counts_are_repeated(run, model, step);
        }
    }
    check(run.nodes_done() == 24, "the run did not end", run.nodes_done());
}

}  // namespace

int main() {
    fields_are_counted();
    ready_nodes_are_written_in_order();
    each_number_moves_by_its_own_step();
    Checklist list;
    go_through_a_run(list, false);
    go_through_a_run(list, true);
    for (const char* name :
         {"Nodes::State", "Nodes::OfActor", "Collectives::State", "Planner::OfActor",
          "Planner::RoundRobin", "Planner::AlternationCount", "ChunkQueues::State", "ChunkQueues::Queue",
          "ChunkQueues::PhaseOrder", "ChunkQueues::PhaseStart", "Chunk", "CollectiveInstance", "Completion",
          "PeerTables::Table", "Phase", "Transport::State", "Transport::Flight", "queues swapped", "phases moved",
          "flights"}) {
        check(list.checked(name) > 0, (std::string("never looked at: ") + name).c_str(), 0);
    }
}
