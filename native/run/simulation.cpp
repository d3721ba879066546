#include "run/simulation.hpp"

#include <algorithm>
#include <vector>

#include "base/ensure.hpp"
#include "base/interruption.hpp"
#include "model/rank_order.hpp"
#include "model/traffic.hpp"
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
            model.collectives.system.units_of_all_to_alls,
            model.collectives.system.takes_units_alone};
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

NetworkSetup Simulation::network_setup(const Model& model, const Grid& grid, Engine& engine,
                                       const std::string& why_one_thread) {
    return {model.network, model.semantics, grid, engine, [&model] { return rank_order(model); },
            {why_one_thread, [&model] { return traffic_of(model); }}};
}

Simulation::Simulation(const Model& model, bool match_by_tag, Cast cast)
    : model_(model),
      grid_(model.network.dimensions, model.network.tables),
      actors_(cast.actors ? std::move(*cast.actors) : all_ranks(model, grid_)),
      engine_(actors_.count()),
      network_(cast.network ? cast.network(grid_, engine_) : make_network(network_setup(model, grid_, engine_, cast.why_one_thread))),
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
      ahead_(engine_.queue, transport_, executor_),
      arrivals_(engine_, executor_),
      batches_(engine_, components_, collectives_.exchange(), cast.watcher),
      due_(local_, components_) {
    components_.add(Owner::rank_events, batches_);
    components_.add(Owner::exchange, collectives_.exchange());
    components_.add(Owner::graph, collectives_.graph());
    components_.add(Owner::custom, collectives_.custom());
    components_.add(Owner::collectives, collectives_);
    components_.add(Owner::execution, executor_);
    components_.add(Owner::transport, ahead_);
    components_.add(Owner::network, *network_);
    components_.add(Owner::memory, memory_);
    components_.add(Owner::bus, bus_);
    components_.add(Owner::local_bandwidth, due_);
    components_.add(Owner::arrivals, arrivals_);
    ensure(model.work.job_of.size() == grid_.ranks(), "one job per rank");
    engine_.done_at = [this] { return executor_.done_at(); };
}

void Simulation::start() { executor_.start(); }

// Most events are of two, and a known call takes a tenth less of a ring's time.
[[gnu::always_inline]] inline void Simulation::handle(const Event& event) {
    if (event.kind.owner() == Owner::rank_events) [[likely]] {
        batches_.handle(event);
    } else if (event.kind.owner() == Owner::exchange) {
        collectives_.exchange().handle(event);
    } else {
        components_[event.kind.owner()].handle(event);
    }
}

bool Simulation::run_for(u64 events) {
    engine_.paused = must_match_by_tag();
    for (u64 left = events; left > 0 && !engine_.queue.empty() && !engine_.paused;) {
        look_up();
        const EventRun& next = engine_.queue.next_run();
        if (next.count == 1) [[likely]] {
            handle(next.event(0));
            --left;
        } else {
            left -= handle_run(next, left);
        }
    }
    return over();
}

u32 Simulation::handle_run(const EventRun& next, u64 most) {
    constexpr u32 few = 4;
    const EventRun run = next;
    const auto until = static_cast<u32>(std::min<u64>(run.count, most));
    Component& owner = components_[run.owner()];
    u32 at = 0;
    while (at < until && !engine_.paused) {
        look_up();
        engine_.more_of_run = run.count > few || at + 1 < run.count;
        at = run.count > few ? owner.handle_run(run, at, until) : owner.Component::handle_run(run, at, until);
    }
    engine_.more_of_run = false;
    if (at < run.count) {
        engine_.queue.put_back(run, at);
    }
    return at;
}

void Simulation::step() { handle(engine_.queue.next()); }

void Simulation::completed(const Completion& completion) {
    if (completion.kind.owner() == Owner::execution) [[likely]] {
        executor_.completed(completion);
        return;
    }
    components_[completion.kind.owner()].completed(completion);
}

void Simulation::begins(const Completion& completion) {
    if (!completion.kind.is_none() && completion.kind.owner() == Owner::execution) {
        executor_.message_begins(completion);
    }
}

u32 Simulation::submit(const Jobs& jobs, u64 tick) {
    ensure(actors_.classes() == nullptr, "jobs cannot arrive where one rank stands for many");
    ensure(tick >= engine_.now(), "jobs for a time that has passed");
    std::vector<std::pair<ActorId, std::shared_ptr<const Job>>> of_actors;
    for (const auto& [rank, job] : jobs) {
        ensure(rank.index() < grid_.ranks(), "a job for a rank that is not there");
        of_actors.emplace_back(actors_.of(rank), job);
    }
    const u32 arrival = executor_.arrivals().accept(std::move(of_actors));
    arrivals_.expect(arrival, tick);
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
    const Nodes::State& state = executor_.state();
    Outcome out = without_nodes();
    out.start = state.start;
    out.end = state.end;
    out.begun = state.begun;
    return out;
}

Outcome Simulation::take_outcome() {
    Outcome out = without_nodes();
    Nodes::State& state = executor_.state();
    out.start = std::move(state.start);
    out.end = std::move(state.end);
    out.begun = std::move(state.begun);
    return out;
}

Outcome Simulation::without_nodes() const {
    const Nodes::State& state = executor_.state();
    Outcome out;
    out.finish = state.finish.values();
    for (ActorId actor : state.finish_order) {
        out.finish_order.push_back(actor.index());
    }
    out.happenings = executor_.log().happenings();
    u32 nodes = 0;
    for (const Nodes::OfActor& actor : state.actors) {
        out.compute_busy.push_back(actor.compute_busy);
        out.first_node.push_back(actor.parts.front().first_place);
        nodes += actor.parts.front().job->graph->size();
    }
    out.first_node.push_back(nodes);
    NetworkReport report = network_->report();   // first: it brings counts up to date
    out.dimensions = network_->dimensions();
    out.links = network_->links();
    out.busiest = std::move(report.busiest);
    out.disturbance = report.disturbance;
    out.packets = std::move(report.packets);
    out.under_way = report.under_way;
    out.threads = std::move(report.threads);
    out.finished = state.finish_order.size() == actors_.count();
    if (!out.finished && over() && actors_.classes() == nullptr) {
        out.waiting = diagnose(model_, grid_, executor_, transport_, collectives_);
    }
    out.unreceived = unreceived(transport_);
    out.cut = transport_.cut().and_also(bus_.cut());
    out.events = engine_.queue.processed() - report.wakes + report.own_events;
    out.messages = transport_.state().messages;
    out.last_tick = engine_.now();
    if (out.finished && actors_.classes() == nullptr && Charges::are_in(model_)) {
        add_charges(model_, grid_, jobs(), out);
    }
    return out;
}

std::vector<JobOfRank> Simulation::jobs() const {
    std::vector<JobOfRank> found;
    for (u32 rank = 0; rank < actors_.count(); ++rank) {
        executor_.state().actors[ActorId(rank)].parts.for_each([&](const Nodes::Part& part) {
            found.push_back({rank, part.job.get(), part.arrival == none});
        });
    }
    return found;
}

}  // namespace yantra
