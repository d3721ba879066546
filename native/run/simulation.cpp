#include "run/simulation.hpp"

#include <algorithm>

#include "base/ensure.hpp"
#include "base/interruption.hpp"
#include "base/vector.hpp"
#include "model/rank_order.hpp"
#include "network/level.hpp"
#include "run/diagnosis.hpp"

namespace yantra {

namespace {

SharedBusParameters bus_of(const SystemParameters& system) {
    SharedBusParameters bus = system.bus;
    bus.reduction_delay = system.local_reduction_delay;
    return bus;
}

double per_tick(double bytes_per_s, const TimeScale& scale) {
    return bytes_per_s / 1e9 / static_cast<double>(scale.ticks_per_ns());
}

TakenByCollectives taken_of(const Model& model) {
    return {model.collectives.system.units_of_collectives,
            per_tick(model.collectives.system.bytes_per_s_of_collectives, model.semantics.scale),
            model.collectives.system.units_of_all_to_alls};
}

Actors all_ranks(const Model& model, const Grid& grid) {
    return Actors(grid.ranks(), static_cast<u32>(model.collectives.communicators.size()));
}

Collectives::Options options_of(const Model& model, bool match_by_tag, const Cast& cast) {
    return {match_by_tag || model.collectives.match_by_tag,
            cast.watcher,
            cast.times,
            model.network.choice.option("in_order", 0.0) != 0.0,
            model.work.resources.communicates_in_one(),
            model.work.resources.communicates_one_by_one()};
}

}  // namespace

NetworkSetup Simulation::network_setup(const Model& model, const Grid& grid, Engine& engine) {
    return {model.network, model.semantics, grid, engine, [&model] { return rank_order(model); }};
}

Simulation::Simulation(const Model& model, bool match_by_tag, Cast cast)
    : model_(model),
      grid_(model.network.dimensions, model.network.tables),
      actors_(cast.actors ? std::move(*cast.actors) : all_ranks(model, grid_)),
      engine_(actors_.count()),
      network_(cast.network ? cast.network(grid_, engine_) : make_network(network_setup(model, grid_, engine_))),
      watcher_(cast.watcher),
      transport_(engine_, actors_, *network_, *this,
                 {model.collectives.system.rendezvous, model.semantics.quirks.send_completes_on_arrival,
                  model.semantics.quirks.sizes_of_32_bits},
                 cast.watcher),
      local_(engine_, per_tick(model.collectives.system.shared_bytes_per_s, model.semantics.scale),
             model.semantics.scale, actors_.count(), taken_of(model)),
      memory_(engine_, model.memory, grid_.ranks(), model.semantics.scale, local_),
      bus_(engine_, *this, bus_of(model.collectives.system), model.semantics.scale,
           model.semantics.quirks.sizes_of_32_bits, actors_.count()),
      collectives_(model.collectives, model.semantics, grid_, actors_, engine_, transport_, bus_, local_, *this,
                   options_of(model, match_by_tag, cast)),
      executor_(model, actors_, engine_, transport_, memory_, local_, collectives_, cast.watcher),
      ahead_(engine_.queue, transport_, executor_) {
    ensure(model.work.job_of.size() == grid_.ranks(), "one job per rank");
    engine_.done_at = [this] { return executor_.done_at(); };
}

void Simulation::start() { executor_.start(); }

// The next two are inlined into the loop: a call costs as much as some events. Components'
// functions are not, to keep the loop small.
[[gnu::always_inline]] inline u32 Simulation::handle(ActorId actor, const RankEvent& event, u32 count) {
    if (watcher_ != nullptr) [[unlikely]] {
        watcher_->event_begins();
        count = 1;
    }
    switch (event.kind.owner()) {
        case Owner::exchange:
            if (count > 1) {
                return collectives_.exchange().in_step().handle_many(event, count);
            }
            collectives_.exchange().single().handle(event);
            return 1;
        case Owner::graph:
            collectives_.graph().handle(event);
            return 1;
        case Owner::custom:
            collectives_.custom().handle(event);
            return 1;
        case Owner::collectives:
            collectives_.handle(event);
            return 1;
        case Owner::execution:
            executor_.handle(actor, event);
            return 1;
        case Owner::memory:
            memory_.handle(event);
            return 1;
        case Owner::bus:
            bus_.handle(actor, event);
            return 1;
        case Owner::local_bandwidth:
            handle_due(actor, event);
            return 1;
        default:
            fail("an actor's event of a component that has none");
    }
}

[[gnu::noinline]] void Simulation::handle_due(ActorId actor, const RankEvent& event) {
    const std::optional<RankEvent> due = local_.due(actor, event);
    if (!due) {
        return;
    }
    switch (due->kind.owner()) {
        case Owner::exchange:
            collectives_.exchange().single().handle(*due);
            return;
        case Owner::graph:
            collectives_.graph().handle(*due);
            return;
        case Owner::custom:
            collectives_.custom().handle(*due);
            return;
        case Owner::execution:
            executor_.handle(actor, *due);
            return;
        default:
            fail("work on the memory of a component that has none");
    }
}

[[gnu::always_inline]] inline void Simulation::handle(const Event& event) {
    switch (event.kind.owner()) {
        case Owner::rank_events:
            if (watcher_ == nullptr && engine_.of_ranks.begins_with(event.index, Owner::exchange)) [[likely]] {
                collectives_.exchange().single().handle(engine_.of_ranks.begin(ActorId(event.index)));
                if (!engine_.of_ranks.is_over()) [[unlikely]] {
                    finish_batch();
                }
                return;
            }
            engine_.of_ranks.run(event.index, [this](ActorId actor, const RankEvent& of_rank, u32 count) {
                return handle(actor, of_rank, count);
            });
            return;
        case Owner::exchange:
            collectives_.exchange().single().handle(event);
            return;
        case Owner::transport:
            ahead_.step();
            transport_.handle(event);
            return;
        case Owner::network:
            network_->handle(event);
            return;
        case Owner::memory:
            memory_.handle(event);
            return;
        case Owner::arrivals:
            if (const u32 arrival = timers_.expire(event.index); arrival != none) {
                executor_.begin(arrival);
            }
            return;
        default:
            fail("an event of a component that has none of its own");
    }
}

void Simulation::finish_batch() {
    engine_.of_ranks.finish([this](ActorId actor, const RankEvent& of_rank, u32 count) {
        return handle(actor, of_rank, count);
    });
}

// Mostly by the machine's loop; the rest as single events.
u32 Simulation::handle_run(const EventRun& run, u32 until) {
    u32 at = 0;
    engine_.more_of_run = true;
    while (at < until && !engine_.paused) {
        look_up();
        const u32 from = at;
        if (run.owner() == Owner::exchange) {
            at = collectives_.exchange().in_step().handle_arrivals(run, at, until);
        } else if (run.owner() == Owner::network) {
            at = network_->handle_run(run, at, until);
        } else if (run.owner() == Owner::rank_events && watcher_ == nullptr) {
            at = collectives_.exchange().in_step().handle_of_ranks(run, at, until);
            if (engine_.of_ranks.is_running()) {
                finish_batch();
                ++at;
            }
        }
        if (at == from) {
            handle(run.event(at++));
        }
    }
    engine_.more_of_run = false;
    return at;
}

// A loop over so few events would cost more than it saves.
u32 Simulation::handle_few(const EventRun& run, u32 until) {
    u32 at = 0;
    for (; at < until && !engine_.paused; ++at) {
        engine_.more_of_run = at + 1 < run.count;
        handle(run.event(at));
    }
    engine_.more_of_run = false;
    return at;
}

bool Simulation::run_for(u64 events) {
    constexpr u32 few = 4;
    engine_.paused = must_match_by_tag();
    for (u64 left = events; left > 0 && !engine_.queue.empty() && !engine_.paused;) {
        look_up();
        const EventRun& next = engine_.queue.next_run();
        if (next.count == 1) [[likely]] {
            handle(next.event(0));
            --left;
            continue;
        }
        const EventRun run = next;
        const auto until = static_cast<u32>(std::min<u64>(run.count, left));
        const u32 done = run.count > few ? handle_run(run, until) : handle_few(run, until);
        left -= done;
        if (done < run.count) {
            engine_.queue.put_back(run, done);
        }
    }
    return over();
}

void Simulation::step() { handle(engine_.queue.next()); }

void Simulation::completed(const Completion& completion) {
    if (completion.kind.owner() == Owner::execution) [[likely]] {
        executor_.completed(completion);
        return;
    }
    switch (completion.kind.owner()) {
        case Owner::exchange:
            collectives_.exchange().single().completed(completion);
            return;
        case Owner::graph:
            collectives_.graph().completed(completion);
            return;
        case Owner::custom:
            collectives_.custom().completed(completion);
            return;
        default:
            fail("a completion that nobody waits for");
    }
}

// Only nodes record how long they waited.
void Simulation::begins(const Completion& completion) {
    if (!completion.kind.is_none() && completion.kind.owner() == Owner::execution) {
        executor_.message_begins(completion);
    }
}

u32 Simulation::submit(const Jobs& jobs, u64 tick) {
    ensure(actors_.classes() == nullptr, "jobs cannot arrive where one rank stands for many");
    ensure(tick >= engine_.now(), "jobs for a time that has passed");
    Vector<std::pair<ActorId, std::shared_ptr<const Job>>> of_actors;
    for (const auto& [rank, job] : jobs) {
        ensure(rank.index() < grid_.ranks(), "a job for a rank that is not there");
        of_actors.emplace_back(actors_.of(rank), job);
    }
    const u32 arrival = executor_.accept(std::move(of_actors));
    arrivals_.push_back(timers_.set(arrival));
    engine_.queue.schedule(tick, {Owner::arrivals, 0}, arrivals_.back().slot);
    return arrival;
}

std::optional<Mismatch> Simulation::mismatch() const {
    const std::optional<MismatchedNodes>& found = collectives_.mismatch();
    if (!found) {
        return std::nullopt;
    }
    return Mismatch{actors_.rank(found->actor).index(), found->node.index(),
                    actors_.rank(found->other_actor).index(), found->other_node.index()};
}

Outcome Simulation::outcome() const {
    const Executor::State& state = executor_.state();
    Outcome out = without_nodes();
    out.start = state.start;
    out.end = state.end;
    out.begun = state.begun;
    return out;
}

Outcome Simulation::take_outcome() {
    Outcome out = without_nodes();
    Executor::State& state = executor_.state();
    out.start = std::move(state.start);
    out.end = std::move(state.end);
    out.begun = std::move(state.begun);
    return out;
}

Outcome Simulation::without_nodes() const {
    const Executor::State& state = executor_.state();
    Outcome out;
    out.finish = state.finish.values();
    for (ActorId actor : state.finish_order) {
        out.finish_order.push_back(actor.index());
    }
    out.happenings = executor_.happenings();
    u32 nodes = 0;
    for (const Executor::OfActor& actor : state.actors) {
        out.compute_busy.push_back(actor.compute_busy);
        out.first_node.push_back(actor.parts.front().first_place);
        nodes += actor.parts.front().job->graph->size();
    }
    out.first_node.push_back(nodes);
    out.dimensions = network_->dimensions();
    out.links = network_->links();
    NetworkReport report = network_->report();
    out.busiest = std::move(report.busiest);
    out.disturbance = report.disturbance;
    out.packets = std::move(report.packets);
    out.under_way = report.under_way;
    out.finished = state.finish_order.size() == actors_.count();
    if (!out.finished && over() && actors_.classes() == nullptr) {
        out.waiting = diagnose(model_, grid_, executor_, transport_, collectives_);
    }
    out.unreceived = unreceived(transport_);
    out.cut = transport_.cut().and_also(bus_.cut());
    out.events = engine_.queue.processed();
    out.messages = transport_.state().messages;
    out.last_tick = engine_.now();
    if (out.finished && actors_.classes() == nullptr && Charges::are_in(model_)) {
        add_charges(model_, grid_, jobs(), out);
    }
    return out;
}

Vector<JobOfRank> Simulation::jobs() const {
    Vector<JobOfRank> found;
    for (u32 rank = 0; rank < actors_.count(); ++rank) {
        executor_.state().actors[ActorId(rank)].parts.for_each([&](const Executor::Part& part) {
            found.push_back({rank, part.job.get(), part.arrival == none});
        });
    }
    return found;
}

}  // namespace yantra
